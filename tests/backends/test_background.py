"""Functions in background processes: their end is noticed, and they are stopped."""

from __future__ import annotations

import os
import signal
from contextlib import closing

import pytest

from pac.backends import WorkerState
from pac.backends.system.segment import own_directory
from pac.backends.workers.background import BackgroundProcesses, ProcessExit
from pac.envs import BadParameter

from ..waiting import until

pytestmark = pytest.mark.session


class Stopped(BackgroundProcesses):
    """Processes for a `with closing(...)` block."""

    close = BackgroundProcesses.stop


@pytest.fixture
def processes():
    """Return background processes that are stopped after the test."""
    with closing(Stopped()) as made:
        yield made


def end_of(processes: BackgroundProcesses) -> ProcessExit:
    """Wait for the end of one process."""
    return until(processes.poll)[0]


def test_an_exception_is_reported_with_traceback_and_output(processes):
    """The exit says what was raised, where, and what had been printed."""
    processes.start("learner", "chores:fail", {"text": "bad batch"})
    found = end_of(processes)
    assert (found.name, found.failed, found.reason) == ("learner", True, "ValueError: bad batch")
    assert "in fail" in found.traceback
    assert "loss is 12" in found.output


def test_a_killed_process_is_noticed(processes):
    """Its exit names the signal, and is reported once."""
    processes.start("learner", "chores:hang", {})
    until(lambda: processes.statuses()["learner"].state == WorkerState.READY)
    os.kill(processes.statuses()["learner"].pid, signal.SIGKILL)
    assert end_of(processes).reason == "killed by SIGKILL"
    assert processes.poll() == []
    assert processes.statuses() == {}


def test_a_function_that_returns_has_not_failed(processes):
    """Its exit has no reason, and its name, of which there can be one at a time, is free again."""
    for _ in range(2):
        processes.start("learner", "chores:finish", {})
        with pytest.raises(BadParameter, match="'learner' is already running"):
            processes.start("learner", "chores:finish", {})
        assert not end_of(processes).failed


def test_a_hung_process_is_killed(processes):
    """Without a beat for the time limit, the exit shows where it hangs."""
    processes.start("learner", "chores:hang", {}, hang_timeout=0.2)
    found = end_of(processes)
    assert "no sign of life for 0.2 s" in found.reason
    assert "chores.py" in found.output


def test_stop_lets_functions_return(processes, tmp_path):
    """They see `link.closing`, finish, and leave no files."""
    paths = [tmp_path / str(index) for index in range(2)]
    for path in paths:
        processes.start(path.name, "chores:count", {"path": str(path), "pause": 0.001})
    until(lambda: all(status.steps > 2 for status in processes.statuses().values()))
    processes.stop()
    assert all(int(path.read_text()) > 2 for path in paths)
    assert not list(own_directory().glob("fleet-*"))


@pytest.mark.parametrize("kill", [False, True])
def test_daemons_of_a_process_are_killed_with_it(processes, alive, tmp_path, kill):
    """A daemon in a session of its own ends, also if the process that started it was killed before."""
    path = tmp_path / "daemon"
    processes.start("learner", "chores:leave_daemon", {"path": str(path)})
    until(lambda: path.exists() and processes.statuses()["learner"].state == WorkerState.READY)
    daemon = int(path.read_text())
    assert alive(daemon)
    if kill:
        os.kill(processes.statuses()["learner"].pid, signal.SIGKILL)
        assert end_of(processes).failed
    processes.stop()
    until(lambda: not alive(daemon))


def test_programs_of_a_process_within_a_process_are_killed_with_it(processes, alive, tmp_path):
    """Workers of a background process that is killed have no time to end what they have started."""
    path = tmp_path / "program"
    processes.start("learner", "chores:play", {"task": f"faulty:Parent:file={path}"})
    until(lambda: path.exists() and processes.statuses()["learner"].state == WorkerState.READY)
    program = int(path.read_text())
    os.kill(processes.statuses()["learner"].pid, signal.SIGKILL)
    assert end_of(processes).failed
    processes.stop()
    until(lambda: not alive(program))
