"""Publishing without a debugger: state, environments and boards, as often as viewers need them."""

import math

import pytest

from pac.envs.fields import DECIDES, OUT, WAITS
from pac.training.session.gate import Gate
from pac.training.session.publishing import PERIODS, Publisher
from pac.training.session.state import SessionState, View
from pac.training.telemetry.blocks import TelemetryReader
from pac.training.telemetry.counts import Counts
from pac.training.telemetry.records import MESSAGE_BYTES, Phase
from pac.training.telemetry.snapshot import ViewRequest
from pac.training.telemetry.throughput import Mark, Throughput

from .source import TASK, N, Source, segment

NOW = Mark(3.0, 0, 0)


class Published:
    """A publisher, what it publishes, and a reader."""

    def __init__(self, folder):
        self.state, self.view, self.gate = SessionState(), View(), Gate(folder)
        self.counts, self.source = Counts(TASK), Source()
        self.counts.resize(N)
        self.publisher = Publisher(TASK, self.state, self.view, self.counts, Throughput(), gate=self.gate)
        self.publisher.attach(segment(folder), N)
        self.reader = TelemetryReader(folder)

    def read(self, block):
        self.publisher.publish(NOW)
        return self.reader.read(block)


@pytest.fixture
def published(tmp_path):
    return Published(tmp_path)


def test_the_state_is_published_before_there_are_environments(published):
    """With what the session is doing, and NaN for what is not known."""
    published.state.phase, published.state.message = Phase.RESTARTING, "restarting"
    published.state.device = "cuda:1"
    state = published.read("state")
    assert (state["phase"], state["message"], state["device"]) == (Phase.RESTARTING, b"restarting", b"cuda:1")
    assert (state["num_envs"], state["training_seconds"]) == (N, 3.0)
    assert all(math.isnan(state[name]) for name in ("fps", "sps", "baseline", "progress", "limit"))


def test_a_long_message_is_shortened(published):
    """It ends with an ellipsis, and no character is cut in two."""
    published.state.message = "é" * MESSAGE_BYTES
    assert published.read("state")["message"].item().decode().endswith("é…")


def test_a_closed_gate_is_a_phase(published):
    """A running session that is paused says so; one that is ending does not."""
    published.state.phase = Phase.RUNNING
    published.gate.pause()
    assert published.read("state")["phase"] == Phase.PAUSED
    published.state.phase = Phase.STOPPING
    assert published.read("state")["phase"] == Phase.STOPPING


def test_environments_are_published_from_the_newest_slot(published):
    """What only a debugger knows stays empty."""
    published.source.step(episode_return=[1, 2, 3, 4])
    published.publisher.begin(published.source)
    table = published.read("environments")
    assert table["episode_return"].tolist() == [1, 2, 3, 4]
    assert table["worker"].tolist() == [-1] * N
    assert not table["notice"].any()


def test_a_seat_that_waited_has_no_action(published):
    """Its place in the buffer holds a number without a meaning."""
    source = published.source
    source.buffer["active"][0] = [DECIDES, WAITS, DECIDES, OUT]
    source.buffer["action"][0] = [2, 1, 0, 1]
    source.step()
    published.publisher.begin(source)
    assert published.read("environments")["action"].tolist() == [2, -1, 0, -1]


def test_only_displayed_boards_are_copied(published):
    """Those of the grid, and the one in focus."""
    published.source.buffer["board"][:] = 7
    published.publisher.begin(published.source)
    published.view.has_viewers, published.view.look = True, ViewRequest(first=0, count=2, focus=3)
    assert published.read("board:board")[:, 0, 0].tolist() == [7, 7, 0, 7]


@pytest.mark.parametrize(
    ("has_viewers", "look", "period"),
    [(False, ViewRequest(), "nobody"), (True, ViewRequest(count=2), "grid"), (True, ViewRequest(focus=0), "focus")],
)
def test_the_period_depends_on_what_viewers_display(published, has_viewers, look, period):
    """An environment in focus is published most often."""
    published.view.has_viewers, published.view.look = has_viewers, look
    assert published.publisher.period == PERIODS[period]
