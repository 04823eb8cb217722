"""Results of iterations, as readers of telemetry see them."""

import pytest

from pac.envs import find
from pac.training.telemetry.blocks import TelemetryReader, TelemetryWriter
from pac.training.telemetry.counts import Counts
from pac.training.telemetry.description import describe
from pac.training.telemetry.metric_history import MetricHistory, TooManyMetrics
from pac.training.telemetry.metric_names import split_metric_name
from pac.training.telemetry.processes import ProcessRole, ProcessStatus, ProcessTable
from pac.training.telemetry.segment_layout import MAX_METRICS
from pac.training.telemetry.snapshot import ViewRequest, take_snapshot

from ...toys import FACTS

TASK = find("noop")


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
    writer = TelemetryWriter(describe(TASK, **FACTS), 1, 1, folder)
    series.attach(writer)
    found = take_snapshot(TelemetryReader(folder), ViewRequest(count=0, curves=("loss",)))
    assert found.metrics == {"loss": series.latest["loss"]}
    return found.curves["loss"]


def test_a_run_without_metrics_begins_its_curve(folder):
    """A file that was removed is no reason not to go on."""
    series = MetricHistory()
    series.resume([], 40)
    train(series, lines(45)[40:])
    assert seen(series, folder).steps.tolist() == [410, 420, 430, 440, 450]


def test_more_metrics_than_any_screen_shows_are_kept(folder):
    """All 150 are read with their values, and each has its curve, also one that is reported later than the others."""
    series, counts = MetricHistory(), Counts(TASK)
    writer = TelemetryWriter(describe(TASK, **FACTS), 1, 1, folder)
    series.attach(writer)
    first = {f"figure{k}": float(k) for k in range(149)}
    for iteration, row in enumerate((first, {**first, "late": 7.0}), 1):
        counts.iterations = counts.steps = counts.frames = iteration
        series.append(row, counts, iteration)
    found = take_snapshot(TelemetryReader(folder), ViewRequest(count=0, curves=("late", "figure148")))
    assert found.metrics == {**first, "late": 7.0}
    assert found.curves["late"].values.tolist() == [7]
    assert found.curves["late"].steps.tolist() == [2]
    assert found.curves["figure148"].values.tolist() == [148, 148]


def test_a_metric_has_no_points_before_it_is_reported(folder):
    """Also if its name was added earlier. Its newest value stays in the list when an iteration does not report it."""
    series, counts = MetricHistory(), Counts(TASK)
    series.attach(TelemetryWriter(describe(TASK, **FACTS), 1, 1, folder))
    for iteration, row in enumerate(({"a": 1.0}, {"b": 2.0}, {"a": 3.0}), 1):
        counts.iterations = counts.steps = counts.frames = iteration
        series.add_names(row)
        series.append(row, counts, iteration)
    found = take_snapshot(TelemetryReader(folder), ViewRequest(count=0, curves=("a", "b")))
    assert found.curves["a"].steps.tolist() == [1, 3]
    assert (found.curves["b"].steps.tolist(), found.curves["b"].values.tolist()) == ([2], [2])
    assert found.metrics == {"a": 3, "b": 2}


@pytest.mark.thorough
def test_a_metric_that_is_reported_rarely_survives_thinning(folder):
    """Each of its values is in a point that is kept, whatever the number of iterations."""
    series, counts = MetricHistory(), Counts(TASK)
    series.attach(TelemetryWriter(describe(TASK, **FACTS), 1, 1, folder))
    for iteration in range(1, 5001):
        counts.iterations = counts.steps = counts.frames = iteration
        series.append({"loss": 0.0} | ({"eval": float(iteration)} if iteration % 101 == 0 else {}), counts, iteration)
    found = take_snapshot(TelemetryReader(folder), ViewRequest(count=0, curves=("eval",)))
    assert found.curves["eval"].values.tolist() == list(range(101, 5001, 101))


def test_a_metric_without_room_is_an_error():
    """It names the metric and how many there may be; so does a name that is too long."""
    series = MetricHistory()
    series.add_names(f"figure{k}" for k in range(MAX_METRICS))
    series.add_names(["figure0"])
    with pytest.raises(TooManyMetrics, match=rf"limit of {MAX_METRICS} metrics reached, got 'one more'"):
        series.add_names(["one more"])
    with pytest.raises(TooManyMetrics, match="at most 96 bytes, got 'ä"):
        MetricHistory().add_names([49 * "ä"])


def test_a_metric_belongs_to_a_learner():
    """Its name says to which; one without a number belongs to the first, whatever else its name contains."""
    assert split_metric_name("learner2/loss/policy") == (2, "loss/policy")
    for name in ("loss", "loss/learner1", "learner0/loss", "learner/loss", "learner1"):
        assert split_metric_name(name) == (0, name)


def test_each_learner_has_its_curves(folder):
    """A curve knows its learner, and its title names the learner where several report the same metric."""
    series, counts = MetricHistory(), Counts(TASK)
    writer = TelemetryWriter(describe(TASK, **FACTS), 1, 1, folder)
    series.attach(writer)
    counts.iterations = counts.steps = counts.frames = 1
    series.append({"loss": 1.0, "learner1/loss": 2.0, "learner1/lag": 3.0}, counts, 1.0)
    learners = [ProcessStatus(role=ProcessRole.LEARNER, index=0, name="alice", pid=1, state="updating")]
    ProcessTable().write(writer, learners)
    found = take_snapshot(TelemetryReader(folder), ViewRequest(count=0, curves=("loss", "learner1/loss")))
    assert [(curve.learner, *curve.values.tolist()) for curve in found.curves.values()] == [(0, 1), (1, 2)]
    titles = [found.metric_title(name) for name in found.metrics]
    assert titles == ["loss (alice)", "loss (learner 2)", "lag"]
