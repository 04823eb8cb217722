"""The metrics that a script logs, as they become points of curves."""

import math
import threading
from typing import Any

import numpy as np
import pytest

from pac.training.telemetry.records import METRIC_NAME_BYTES
from pac.training.telemetry.segment_layout import MAX_METRICS
from pac.training.watching.logged_metrics import MOST, MOST_LATE, MOST_NUMBERED, LoggedMetrics


@pytest.fixture
def metrics():
    return LoggedMetrics()


def test_a_point_is_the_mean_of_what_was_logged_since_the_last_one(metrics):
    """A metric that is not logged again has no further point."""
    assert not metrics
    metrics.add({"loss": 1.0, "once": 5})
    metrics.add({"loss": np.float32(3)})
    assert metrics.take() == {"loss": 2, "once": 5}
    metrics.add({"loss": np.array([4.0])})
    assert metrics.take() == {"loss": 4}
    assert metrics.take() == {}
    assert metrics


def test_nan_and_infinity_are_kept(metrics):
    """Numbers beside them do not hide them."""
    for loss, value in ((1.0, math.inf), (math.nan, 1.0), (1.0, 1.0)):
        metrics.add({"loss": loss, "value": value})
    found = metrics.take()
    assert math.isnan(found["loss"])
    assert found["value"] == math.inf


class Countdown:
    """An object of a script whose conversion changes it."""

    asked = 0

    def __float__(self):
        self.asked += 1
        return 1.0

    item = __float__


def test_only_numbers_are_figures(metrics):
    """Objects of the script are not asked for a number; texts, images and huge integers are none."""
    counted = Countdown()
    assert not metrics.add(
        {"text": "1", "image": np.zeros((2, 2)), "own": counted, "none": None, "huge": 10**400, 3: 1.0, "yes": True}
    )
    assert metrics.take() == {"yes": 1}
    assert not counted.asked


def test_tensors_are_read_when_they_are_logged_or_later_if_that_would_wait():
    """A tensor of the CPU may be changed by the script right after it was logged."""
    torch = pytest.importorskip("torch")
    metrics, loss = LoggedMetrics(), torch.tensor(2.0, requires_grad=True)
    metrics.add({"loss": loss, "several": torch.ones(2), "nowhere": torch.ones(1, device="meta")})
    with torch.no_grad():
        loss.zero_()
    assert metrics.take() == {"loss": 2}


def test_the_first_names_are_kept_and_the_rest_is_said_once(metrics):
    """All of them have room beside the session's own metrics."""
    said = metrics.add({f"layer_{k}/grad": float(k) for k in range(MOST + 88)})
    assert said == "the curves of the first 512 names are shown: not 'layer_512/grad' and 87 more, nor later new names"
    assert not metrics.add({"layer_700/grad": 1.0})
    assert list(metrics.take()) == [f"layer_{k}/grad" for k in range(MOST)]
    assert MOST + MOST_LATE < MAX_METRICS


def test_names_without_numbers_are_kept_after_many_with_numbers(metrics):
    """A tag per episode does not keep the loss away."""
    for episode in range(MOST + 5):
        metrics.add({f"episode_{episode}/return": 1.0})
    metrics.take()
    metrics.add({"loss": 1.0, "episode_9999/return": 2.0, **{f"head{k}": 0.0 for k in range(MOST_NUMBERED + 1)}})
    assert list(metrics.take()) == ["loss", *(f"head{k}" for k in range(MOST_NUMBERED))]


def test_long_names_are_cut_and_stay_different(metrics):
    """Beginning and end can be read; names of any characters fit."""
    names = [f"very/{'long/' * 40}{k}/name" for k in range(3)] + ["ä" * 80, "line\nbreak", "\udc80"]
    metrics.add(dict.fromkeys(names, 1.0))
    found = list(metrics.take())
    assert len(set(found)) == len(names)
    assert all(len(name.encode()) <= METRIC_NAME_BYTES and name.isprintable() for name in found)
    assert found[1].startswith("very/long/")
    assert "1/name" in found[1]


def test_a_name_of_the_sessions_own_figures_is_marked(metrics):
    """The script's frames per second are not mixed with those that were measured."""
    metrics.add({"fps": 10.0, "time/fps": 10.0, "return/p50": 1.0})
    assert list(metrics.take()) == ["fps (logged)", "time/fps", "return/p50 (logged)"]


def test_what_one_thread_logs_while_another_takes_is_counted_once(metrics):
    """Wherever the one that logs is interrupted."""
    found: list[dict[str, float]] = []
    taking = threading.Thread(target=lambda: found.append(metrics.take()))

    class Interrupting(dict[str, tuple[float, int]]):
        def get(self, name: str, other: Any = None) -> Any:
            sums = super().get(name, other)
            taking.start()
            taking.join(0.1)
            return sums

    metrics._sums = Interrupting({"loss": (1.0, 1)})
    metrics.add({"loss": 3.0})
    taking.join()
    values = [one["loss"] for one in (*found, metrics.take()) if one]
    assert values in ([2.0], [1.0, 3.0])
