"""Publishing state, environments, boards and the environment in focus, as often as viewers need them."""

import math

import numpy as np
import pytest

from pac.envs.fields import DECIDES, OUT, WAITS
from pac.training.session.gate import Gate
from pac.training.session.monitor import Monitor
from pac.training.session.publishing import PERIODS
from pac.training.telemetry.blocks import TelemetryReader
from pac.training.telemetry.moments import RecentSteps
from pac.training.telemetry.records import BINS, MESSAGE_BYTES, SPREAD, Phase
from pac.training.telemetry.snapshot import ViewRequest, take_snapshot
from pac.training.telemetry.tables import write_spread
from pac.training.telemetry.throughput import TrainingClock
from pac.training.trainer import Saliency, Timer

from .source import TASK, N, Policy, Source, segment


class Published:
    """A monitor, the telemetry that it publishes, and a reader."""

    def __init__(self, folder):
        self.gate, self.source, clock = Gate(folder), Source(), TrainingClock()
        clock.add(3.0)
        self.monitor = Monitor(TASK, self.gate, Timer(), clock, on_breakpoint=print, on_finding=print)
        self.state, self.view = self.monitor.state, self.monitor.view
        self.monitor.attach(segment(folder), N)
        self.reader = TelemetryReader(folder)

    def read(self, block):
        self.monitor.publish()
        return self.reader.read(block)


@pytest.fixture
def published(tmp_path):
    return Published(tmp_path)


def test_the_state_is_published_before_there_are_environments(published):
    """With what the session is doing, a message that fits, and NaN for what is not known."""
    published.state.phase, published.state.message = Phase.RESTARTING, "é" * MESSAGE_BYTES
    published.state.device = "cuda:1"
    state = published.read("state")
    assert (state["phase"], state["device"]) == (Phase.RESTARTING, b"cuda:1")
    assert state["message"].item().decode().endswith("é…")
    assert (state["num_envs"], state["training_seconds"]) == (N, 3.0)
    assert all(math.isnan(state[name]) for name in ("fps", "sps", "baseline", "progress", "limit"))


@pytest.mark.parametrize(("phase", "shown"), [(Phase.RUNNING, Phase.PAUSED), (Phase.STOPPING, Phase.STOPPING)])
def test_a_closed_gate_is_a_phase(published, phase, shown):
    """A running session that is paused says so; one that is ending does not."""
    published.state.phase = phase
    published.gate.pause()
    assert published.read("state")["phase"] == shown


def test_environments_are_published_from_the_newest_slot(published):
    """What only a debugger knows stays empty."""
    published.source.step(episode_return=[1, 2, 3, 4])
    published.monitor.begin(published.source)
    table = published.read("environments")
    assert table["episode_return"].tolist() == [1, 2, 3, 4]
    assert table["worker"].tolist() == [-1] * N
    assert not table["notice"].any()


def test_saliency_is_computed_only_on_request_and_once_for_a_step(published, monkeypatch):
    """It costs nothing while nobody looks at it."""
    asked, look = [], ViewRequest(focus=1, saliency=True)

    def saliency(row, _observation, _mask, _action):
        asked.append(row)
        return Saliency(np.array([0.5], "f4"), "logit", np.array(2))

    monkeypatch.setattr(published.monitor.debugger, "saliency", saliency)
    published.source.step()
    published.monitor.begin(published.source)
    published.view.has_viewers, published.view.look = True, ViewRequest(focus=1)
    published.monitor.publish()
    assert not asked
    published.view.look = look
    published.monitor.publish()
    published.monitor.publish()
    assert asked == [1]
    found = take_snapshot(published.reader, look).saliency
    assert found is not None
    assert (found.of, found.gradient.tolist()) == ("logit", [0.5])
    assert found.action == 2
    other = take_snapshot(published.reader, ViewRequest(focus=2, saliency=True)).saliency
    assert other is not None
    assert (other.of, other.step) == ("", -1)  # not known yet


def test_a_seat_that_waited_has_no_action(published):
    """Its place in the buffer holds a number without a meaning."""
    source = published.source
    source.buffer["active"][0] = [DECIDES, WAITS, DECIDES, OUT]
    source.buffer["action"][0] = [2, 1, 0, 1]
    source.step()
    published.monitor.begin(source)
    assert published.read("environments")["action"].tolist() == [2, -1, 0, -1]


def test_only_displayed_boards_are_copied(published):
    """Those of the grid, and the one in focus."""
    published.source.buffer["board"][:] = 7
    published.monitor.begin(published.source)
    published.view.has_viewers, published.view.look = True, ViewRequest(first=0, count=2, focus=3)
    assert published.read("board:board")[:, 0, 0].tolist() == [7, 7, 0, 7]


@pytest.mark.parametrize(
    ("has_viewers", "look", "period"),
    [(False, ViewRequest(), "nobody"), (True, ViewRequest(count=2), "grid"), (True, ViewRequest(focus=0), "focus")],
)
def test_the_period_depends_on_what_viewers_display(published, has_viewers, look, period):
    """An environment in focus is published most often."""
    published.view.has_viewers, published.view.look = has_viewers, look
    assert published.monitor.publisher.period == PERIODS[period]


def test_the_environment_in_focus_is_published(published):
    """The newest step, the policy, and at the gate the next action and the line of the last steps."""
    published.monitor.debugger.policy = Policy()
    published.view.has_viewers, published.view.look = True, ViewRequest(focus=1, detail=True)
    published.source.buffer["action"][:, 1] = [2, 1, 0, 0, 0]
    published.monitor.begin(published.source)
    published.source.step(reward=[0, 5, 0, 0])
    published.monitor.wait()
    moment, line, policy = (published.reader.read(block) for block in ("detail", "line", "policy"))
    assert [moment[name].item() for name in ("env", "action", "next_action")] == [1, 2, 1]
    assert (line["env"].item(), line["ends_count"].item(), line["rewards"][0].item()) == (1, 1, 5)
    assert policy["value"] == pytest.approx(0.1)
    assert published.reader.read("action_counts")[0].tolist()[2] == 1


def test_what_viewers_cost_is_measured(published):
    """Publishing for nobody is the session's own."""
    published.monitor.publish()
    assert published.monitor.publisher.seconds == 0
    published.view.has_viewers = True
    published.monitor.publish()
    assert published.monitor.publisher.seconds > 0


def test_the_newest_step_is_published_before_somebody_inspects_it(published):
    """The inspector can be opened during a long update, in which nothing is published."""
    published.view.has_viewers, published.view.look = True, ViewRequest(focus=1)
    published.monitor.begin(published.source)
    published.source.step(reward=[0, 5, 0, 0])
    published.monitor.publish()
    moment = published.reader.read("detail")
    assert (moment["env"].item(), moment["reward"].item()) == (1, 5)


def test_the_last_steps_are_published_while_it_runs(published):
    """Rewards, values and actions of the environment in focus, at once if it is another one."""
    published.view.has_viewers, published.view.look = True, ViewRequest(focus=1)
    published.source.buffer["action"][:, 1] = [2, 1, 0, 0, 0]
    published.source.buffer["active"][0] = DECIDES
    published.monitor.begin(published.source)
    published.source.step(reward=[0, 5, 0, 0])
    published.source.step(reward=[0, -1, 7, 0])
    published.monitor.publish()
    line = RecentSteps.read(published.reader.read("line"), 1, 0)
    assert line is not None
    assert (line.rewards.tolist(), line.actions.tolist(), len(line.values)) == ([5, -1], [2, 1], 2)
    published.view.look = ViewRequest(focus=2)
    published.monitor.publish()
    line = RecentSteps.read(published.reader.read("line"), 2, 0)
    assert line is not None
    assert line.rewards.tolist() == [0, 7]


def test_the_entropy_is_kept_for_the_steps_that_were_looked_at(published):
    """At the gate, the policy has decided the next step already; entropies of another environment are unknown."""
    published.monitor.debugger.policy = Policy()
    published.view.has_viewers, published.view.look = True, ViewRequest(focus=1)
    published.source.buffer["active"][0] = DECIDES
    published.monitor.begin(published.source)
    published.source.step()
    published.monitor.publish()
    published.source.step()
    published.source.step()
    published.monitor.wait()
    published.source.step()
    published.monitor.wait()
    line = RecentSteps.read(published.reader.read("line"), 1, 0)
    assert line is not None
    assert np.isfinite(line.entropies).tolist() == [True, False, False, True]
    published.view.look = ViewRequest(focus=2)
    published.monitor.publish()
    line = RecentSteps.read(published.reader.read("line"), 2, 0)
    assert line is not None
    assert not np.isfinite(line.entropies[:-1]).any()


def test_histograms_have_the_range_of_their_numbers():
    """NaN and infinity are in none; equal numbers are in one bin."""
    spreads = np.zeros(3, SPREAD.dtype)
    numbers = np.array([[0, 5, np.nan], [1, 5, np.inf], [4, 5, np.nan], [np.nan, 5, np.nan]], np.float32)
    write_spread(spreads, numbers)
    assert [(each["low"], each["high"], each["counts"].sum()) for each in spreads[:2]] == [(0, 4, 3), (5, 5, 4)]
    assert np.flatnonzero(spreads[0]["counts"]).tolist() == [0, BINS // 4, BINS - 1]
    assert np.isnan(spreads[2]["low"])
    assert not spreads[2]["counts"].any()


def test_histograms_of_what_all_environments_observe_are_published(published):
    """While somebody inspects one."""
    published.view.has_viewers, published.view.look = True, ViewRequest(focus=1, detail=True)
    published.monitor.begin(published.source)
    published.source.step(observation=[[0.0], [1.0], [4.0], [4.0]])
    published.monitor.publish()
    (spread,) = published.reader.read("seen_spreads")
    assert (spread["low"], spread["high"], spread["counts"][-1]) == (0, 4, 2)
