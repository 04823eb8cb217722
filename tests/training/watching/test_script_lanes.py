"""Lanes of a script's threads and processes in the timeline."""

import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from pac.training.telemetry.records import MAX_LAPS
from pac.training.watching.script_lanes import COMPUTES, PERIOD, ScriptLanes

pytestmark = pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="needs Linux")
LIMIT = 60.0


def until(condition):
    end = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(PERIOD)


def test_threads_and_processes_that_compute_are_told_from_those_that_wait():
    """While somebody looks; then the thread that samples ends, and nothing is kept."""
    looking, over = True, threading.Event()

    def spin():
        while not over.is_set():
            sum(range(1000))

    threads = [threading.Thread(target=spin, name="spins"), threading.Thread(target=over.wait, name="sleeps")]
    child = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        for thread in threads:
            thread.start()
        lanes = ScriptLanes(lambda: looking, threading.get_native_id, lambda: [child.pid])
        lanes.update()

        def computing():
            found = {lane.name: lane for lane in lanes.lanes()}
            spent = {
                name: sum(lap.end - lap.begin for lap in lane.laps if lap.phase == COMPUTES)
                for name, lane in found.items()
            }
            return found, spent

        until(lambda: min(computing()[1].get(name, 0) for name in ("spins", "process 1")) > 10 * PERIOD)
        found, spent = computing()
        assert threading.current_thread().name not in found
        assert not spent["sleeps"]
        assert found["process 1"].pid == child.pid
        for lane in found.values():
            assert len(lane.laps) <= MAX_LAPS
            assert all(one.end <= other.begin for one, other in zip(lane.laps, lane.laps[1:], strict=False))
        looking = False
        until(lambda: not lanes.lanes())
    finally:
        over.set()
        child.kill()
        child.wait()
        for thread in threads:
            thread.join()


def test_what_has_ended_has_no_lane():
    """A process that is gone leaves none, and raises nothing."""
    child = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    lanes = ScriptLanes(lambda: True, threading.get_native_id, lambda: [child.pid])
    lanes.update()
    until(lambda: "process 1" in {lane.name for lane in lanes.lanes()})
    child.kill()
    child.wait()
    until(lambda: "process 1" not in {lane.name for lane in lanes.lanes()})
