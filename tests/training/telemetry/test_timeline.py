"""The last phases of threads and processes as readers of telemetry see them."""

import itertools
import os

import pytest

from pac.backends.system.arrays import NamedArrays
from pac.envs import find
from pac.training.telemetry.blocks import TelemetryReader, TelemetryWriter
from pac.training.telemetry.description import describe
from pac.training.telemetry.records import MAX_LANES
from pac.training.telemetry.snapshot import ViewRequest, take_snapshot
from pac.training.telemetry.timeline import Lane, SharedLaps, Timeline, laps_specs
from pac.training.trainer import KEPT_LAPS, Lap, Timer

from ...toys import FACTS

TASK = find("noop")


def seen(timeline, folder, *, wanted=True):
    writer = TelemetryWriter(describe(TASK, **FACTS), 1, 1, folder)
    timeline.write(writer)
    return take_snapshot(TelemetryReader(folder), ViewRequest(count=0, timeline=wanted)).lanes


def test_each_thread_or_process_has_a_lane(folder):
    """With its name, its process and its own phases in the order in which it went through them, on request."""
    times = iter(range(100))
    timer, timeline = Timer(times.__next__), Timeline()
    timeline.add("training", timer.laps.copy)
    alice = Lane("learner alice", 4242, (Lap("sample", 1.0, 2.0), Lap("update", 2.5, 4.0)))
    timeline.add_lanes(lambda: [alice])
    timer.lap("inference")
    timer.lap("environment")
    timer.skip()
    timer.lap("inference")
    assert seen(timeline, folder, wanted=False) == ()
    training, learner = seen(timeline, folder)
    assert (training.name, training.pid) == ("training", os.getpid())
    assert training.laps == (("inference", 0, 1), ("environment", 1, 2), ("inference", 3, 4))
    assert (learner.name, learner.pid) == ("learner alice", 4242)
    assert learner.laps == (("sample", 1, 2), ("update", 2.5, 4))


def test_a_lane_keeps_its_last_phases(folder):
    """The oldest are overwritten."""
    timer, timeline = Timer(iter(range(10_000)).__next__), Timeline()
    timeline.add("training", timer.laps.copy)
    for _ in range(3 * KEPT_LAPS):
        timer.lap("learner")
    ((_, _, laps),) = ((lane.name, lane.pid, lane.laps) for lane in seen(timeline, folder))
    assert [lap.end for lap in laps] == list(range(2 * KEPT_LAPS + 1, 3 * KEPT_LAPS + 1))


def test_lanes_of_processes_come_and_go(folder):
    """A source returns those that run now."""
    running = [Lane("agent 1", 1, (Lap("wait", 0.0, 1.0),)), Lane("agent 2", 2, (Lap("sample", 0.0, 1.0),))]
    timeline = Timeline()
    timeline.add_lanes(lambda: running)
    writer = TelemetryWriter(describe(TASK, **FACTS), 1, 1, folder)
    timeline.write(writer)
    del running[0]
    timeline.write(writer)
    assert take_snapshot(TelemetryReader(folder), ViewRequest(count=0, timeline=True)).lanes == tuple(running)


def test_a_process_keeps_its_last_phases_in_shared_memory():
    """Each begins where the one before ended, and one that continues becomes longer; other processes have their own."""
    arrays = NamedArrays(laps_specs(2))
    laps = SharedLaps(arrays, 1)
    for phase in ("wait", "wait", "sample", "gradient step", "wait"):
        laps.lap(phase)
    found = SharedLaps(arrays, 1).read()
    assert [lap.phase for lap in found] == ["wait", "sample", "gradient step", "wait"]
    assert all(before.end == after.begin for before, after in itertools.pairwise(found))
    assert SharedLaps(arrays, 0).read() == []


def test_a_timeline_is_full_at_some_time():
    """The error says how many lanes there may be."""
    timeline = Timeline()
    for index in range(MAX_LANES):
        timeline.add(str(index), list)
    with pytest.raises(ValueError, match=str(MAX_LANES)):
        timeline.add("one more", list)
