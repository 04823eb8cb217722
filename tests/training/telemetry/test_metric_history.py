"""Figures of iterations, as readers of telemetry see them."""

import pytest

from pac.envs import find
from pac.training.telemetry.blocks import TelemetryReader, TelemetryWriter
from pac.training.telemetry.counts import Counts
from pac.training.telemetry.description import describe
from pac.training.telemetry.metric_history import MetricHistory
from pac.training.telemetry.segment_layout import MAX_HISTORY
from pac.training.telemetry.snapshot import ViewRequest, take_snapshot

TASK = find("noop")
FACTS = {"run": "r", "trainer": "random", "backend": "inline", "device": "cpu", "seed": 1, "version": "0", "pid": 1}


def lines(count):
    """What metrics.jsonl has of so many iterations of 10 steps and 2 s."""
    return [
        {"iterations": i, "episodes": 0, "steps": 10 * i, "frames": 30 * i, "seconds": 2 * i, "loss": -i}
        for i in range(1, count + 1)
    ]


def train(series, rows):
    counts = Counts(TASK)
    for row in rows:
        counts.iterations, counts.steps, counts.frames = row["iterations"], row["steps"], row["frames"]
        series.append({"loss": row["loss"]}, counts, row["seconds"])


def seen(series, folder):
    """Return the curve of the loss."""
    writer = TelemetryWriter(TASK, describe(TASK, **FACTS), 1, 1, folder)
    series.attach(writer)
    found = take_snapshot(TelemetryReader(folder), ViewRequest(count=0, curves=("loss",)))
    writer.unlink()
    assert found.metrics == {"loss": series.latest["loss"]}
    return found.curves["loss"]


@pytest.mark.parametrize("count", [1, 7, MAX_HISTORY, MAX_HISTORY + 1, 5000])
def test_a_resumed_run_shows_the_curve_of_the_whole(folder, count):
    """From the first iteration to the last, in the order they came, thinned as far as there is room."""
    rows = lines(count + 700)
    series = MetricHistory()
    series.resume(rows[:count], count)
    curve = seen(series, folder)
    assert curve.steps[-1] == 10 * count
    train(series, rows[count:])
    curve = seen(series, folder)
    assert curve.steps[0] <= 10 * count / 100 + 10
    assert curve.steps[-1] >= 10 * (count + 690)
    assert (curve.steps[1:] > curve.steps[:-1]).all()
    assert min(count + 700, MAX_HISTORY) / 2 <= len(curve.steps) <= MAX_HISTORY
    assert (curve.seconds == curve.steps / 5).all()
    assert (curve.values == -curve.steps / 10).all()


def test_a_run_without_metrics_begins_its_curve(folder):
    """A file that was removed is no reason not to go on."""
    series = MetricHistory()
    series.resume([], 40)
    train(series, lines(45)[40:])
    assert seen(series, folder).steps.tolist() == [410, 420, 430, 440, 450]
