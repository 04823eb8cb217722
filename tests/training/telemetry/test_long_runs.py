"""What happens again and again in a long run: rings that wrap, curves that are thinned, files that are emptied."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from pac.backends.system.arrays import NamedArrays
from pac.backends.workers import fleet
from pac.envs import find
from pac.training.runs.worker_output import WorkerOutput
from pac.training.telemetry import timeline
from pac.training.telemetry.blocks import TelemetryReader, TelemetryWriter
from pac.training.telemetry.counts import Counts
from pac.training.telemetry.description import describe
from pac.training.telemetry.episodes import EpisodeTable
from pac.training.telemetry.events import EventLog
from pac.training.telemetry.metric_history import MetricHistory
from pac.training.telemetry.records import MAX_EPISODES, MAX_LAPS, Level
from pac.training.telemetry.segment_layout import MAX_EVENTS, MAX_HISTORY
from pac.training.telemetry.snapshot import ViewRequest, take_snapshot
from pac.training.telemetry.step_results import StepResults
from pac.training.telemetry.throughput import MAX_SAMPLES, Mark, Throughput

from ...toys import FACTS

TASK = find("noop")


@pytest.fixture
def writer(folder):
    """Return a writer of telemetry, whose readers look into the folder."""
    return TelemetryWriter(describe(TASK, **FACTS), 1, 1, folder)


def seen(folder, **look):
    return take_snapshot(TelemetryReader(folder), ViewRequest(count=0, **look))


@pytest.mark.thorough
@pytest.mark.parametrize(
    "total", [1024, 1025, 2050, 8500, (1, 1), (7, 700), (1025, 1725), (5000, 5000), (5000, 5200), (3000, 8500)]
)
def test_a_curve_stays_even_however_often_it_is_thinned(folder, writer, total):
    """From the first iteration to the last: two points are at most twice as far apart as is needed for all to fit."""
    resumed, total = total if isinstance(total, tuple) else (0, total)
    series, counts = MetricHistory(), Counts(TASK)
    rows = [
        {"iterations": i, "steps": 10 * i, "frames": 30 * i, "seconds": 2 * i, "loss": -i}
        for i in range(1, resumed + 1)
    ]
    series.attach(writer)
    if resumed:
        series.resume(rows, resumed)
    for iteration in range(resumed + 1, total + 1):
        counts.iterations, counts.steps, counts.frames = iteration, 10 * iteration, 30 * iteration
        series.append({"loss": -iteration}, counts, 2 * iteration)
    shown = seen(folder, curves=("loss",))
    curve, last = shown.curves["loss"], total
    stride = 1
    while last > stride * MAX_HISTORY:
        stride *= 2
    points = -curve.values
    gaps = np.diff(points)
    assert points[0] <= stride
    assert points[-1] > last - stride
    assert min(gaps, default=stride) >= stride / 2
    assert max(gaps, default=1) <= 2 * stride
    assert min(last, MAX_HISTORY) / 2 <= len(points) <= MAX_HISTORY
    for axis, factor in (("steps", 10), ("frames", 30), ("seconds", 2)):
        assert (getattr(curve, axis) == factor * points).all(), axis
    assert shown.metrics == {"loss": -last}


def test_the_last_events_are_shown_after_the_ring_was_full_many_times(folder, writer):
    """Each once, in order, with its number, level and environment, however many came between two looks."""
    log, added = EventLog(), 0
    for count in (1, 7, 100, MAX_EVENTS - 1, MAX_EVENTS, MAX_EVENTS + 1, 3 * MAX_EVENTS + 5, 2):
        for _ in range(count):
            added += 1
            log.add(Level.INFO if added % 3 else Level.WARNING, f"event {added}", added % 5)
        log.write(writer)
        expected = [
            (number, f"event {number}", number % 5, Level.INFO if number % 3 else Level.WARNING)
            for number in range(max(1, added - MAX_EVENTS + 1), added + 1)
        ]
        found = seen(folder).events
        assert [(event.number, event.text, event.env, event.level) for event in found] == expected[-len(found) :]
        assert len(found) == len(expected)
    assert list(log.reported) == [f"event {number}" for number in range(3, added + 1, 3)][-MAX_EVENTS:]


def ended(numbers, count):
    """Return the results of one step in which the last of `count` environments end an episode of these numbers."""
    envs = np.arange(count - len(numbers), count)
    fields = {
        "ended_envs": envs,
        "ended_steps": np.zeros(len(envs), np.intp),
        "episodes": np.repeat(numbers[:1], count) + 1,
        "returns": np.array(numbers, "f4")[:, None],
        "lengths": np.array(numbers, "i4"),
        "ends": np.ones((1, count), "u1"),
    }
    results = object.__new__(StepResults)
    for name, value in fields.items():
        object.__setattr__(results, name, value)
    return results


def test_the_last_episodes_are_listed_after_the_ring_was_full_many_times(folder, writer):
    """However many end at once."""
    table, total = EpisodeTable(), 0
    for count in (3, 700, MAX_EPISODES, 1, MAX_EPISODES - 1, MAX_EPISODES + 1, 2 * MAX_EPISODES + 7, 299):
        numbers = list(range(total + 1, total + count + 1))
        total += count
        table.add(ended(numbers, count), np.zeros(count, np.intp))
        table.write(writer)
        found = seen(folder, episodes=True).episodes
        assert found["number"].tolist() == list(range(max(1, total - MAX_EPISODES + 1), total + 1))
        assert (found["ret"] == found["number"]).all()
        assert (found["length"] == found["number"]).all()


@pytest.mark.thorough
def test_the_last_phases_of_a_process_are_read_after_the_ring_was_full_many_times(monkeypatch):
    """All but the oldest, which may be overwritten meanwhile; each begins where the one before ended."""
    now = iter(range(100_000))
    monkeypatch.setattr("pac.training.telemetry.timeline.time", SimpleNamespace(monotonic=lambda: next(now)))
    arrays = NamedArrays(timeline.laps_specs(3))
    laps = timeline.SharedLaps(arrays, 1)
    for count in range(1, 3 * MAX_LAPS + 10):
        laps.lap(("wait", "step", "learn")[count % 3])
        laps.lap(("wait", "step", "learn")[count % 3])  # the same phase goes on
        found = timeline.SharedLaps(arrays, 1).read()
        assert len(found) == min(count, MAX_LAPS - 1)
        assert [lap.phase for lap in found[-3:]] == [
            ("wait", "step", "learn")[n % 3] for n in range(count + 1)[-3:] if n
        ]
        assert all(before.end == after.begin for before, after in itertools.pairwise(found))


def test_rates_at_an_n_are_the_medians_of_the_last_windows():
    """Of as many as there is room for: a run's beginning does not count for ever."""
    found = Throughput()
    found.reset(4, Mark(0.0, 0, 0))
    frames = 0
    for window in range(1, 3 * MAX_SAMPLES + 1):
        frames += 2 * window
        found.add(Mark(2.0 * window, frames, frames))
    assert found.windows == list(range(2 * MAX_SAMPLES + 1, 3 * MAX_SAMPLES + 1))
    (entry,) = found.scaling()
    assert (entry.samples, entry.seconds, entry.fps) == (MAX_SAMPLES, 2.0 * MAX_SAMPLES, 2.5 * MAX_SAMPLES + 0.5)


def test_the_output_of_a_worker_is_kept_however_often_its_file_is_emptied(tmp_path, monkeypatch):
    """The file is emptied when it is larger than the limit, and not before."""
    monkeypatch.setattr(fleet.Fleet, "spawn", lambda *_: None)
    monkeypatch.setattr(fleet, "LOG_LIMIT", 640)
    (one,) = fleet.Fleet("nowhere:nothing", [{}]).members
    one.log = tmp_path / "fleet-1-0.log"
    (tmp_path / "run").mkdir()
    output, lines = WorkerOutput(tmp_path, tmp_path / "run" / "workers.log"), list[str]()
    for _ in range(4):
        for count, left in ((7, 7), (3, 10), (1, 0)):
            new = [f"{number:063}" for number in range(len(lines), len(lines) + count)]
            lines += new
            with one.log.open("a") as log:
                log.write("".join(f"{line}\n" for line in new))
            output.copy()
            fleet.status(one)
            assert one.log.stat().st_size == 64 * left
    kept = (tmp_path / "run" / "workers.log").read_text().splitlines()
    assert kept == [f"worker 1: {line}" for line in lines]
