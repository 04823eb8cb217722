"""A process that is neither session nor worker passes the gate of a real session."""

import signal
import struct
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from pac.backends.system.segment import new_directory, remove_directory
from pac.training.session.control import SessionGone
from pac.training.session.gate import Gate
from pac.training.trainer import Interrupted, Stopped

from ...waiting import LIMIT, until
from ..watched import running, session

SCRIPT = Path(__file__).with_name("learner.py")


class Learner:
    """The process, and how often it has passed."""

    def __init__(self, directory, count):
        self._count = count
        count.write_bytes(bytes(8))
        self.process = subprocess.Popen([sys.executable, SCRIPT, directory, count], stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "attached\n"

    @property
    def count(self):
        return struct.unpack("q", self._count.read_bytes())[0]

    def passes(self, count):
        until(lambda: self.count >= count, f"{count} passes")

    def blocks(self):
        """Wait until it is blocked, which only the gate does; return its count."""
        status = psutil.Process(self.process.pid).status
        until(lambda: status() == psutil.STATUS_SLEEPING, "the gate blocks the process")
        return self.count

    def ends(self):
        """Return what it prints at the end, and its exit code."""
        return self.process.communicate(timeout=LIMIT)[0], self.process.returncode


@contextmanager
def learning(directory, tmp_path):
    learner = Learner(directory, tmp_path / "count")
    try:
        yield learner
    finally:
        learner.process.kill()
        learner.process.communicate()


@pytest.fixture
def watched(tmp_path):
    with session(tmp_path / "runs") as watched:
        watched.until(running)
        yield watched


@pytest.fixture
def learner(watched, tmp_path):
    with learning(watched.process.directory, tmp_path) as learner:
        yield learner


@pytest.mark.session
def test_an_attached_process_is_held_as_the_session_and_leaves_nothing_behind(watched, learner):
    """A pause blocks it, `step` allows exactly so many passes, `resume` and the speed limit hold; it may be killed."""
    directory = watched.process.directory
    before = sorted(directory.iterdir())
    learner.passes(1000)
    watched.call("pause")
    count = learner.blocks()
    for steps in (3, 5, 1):
        watched.call("step", count=steps)
        count += steps
        learner.passes(count)
        assert learner.blocks() == count
    watched.call("resume")
    learner.passes(count + 1000)
    watched.call("speed", sps=400)  # of 4 environments: 20 passes take at least 190 ms
    learner.blocks()
    begin, count = time.monotonic(), learner.count
    learner.passes(count + 21)
    assert time.monotonic() - begin >= 0.19
    steps = watched.pause().state["steps"]
    learner.blocks()
    learner.process.send_signal(signal.SIGKILL)
    assert learner.ends() == ("", -signal.SIGKILL)
    watched.call("step", count=3)
    watched.until(lambda snapshot: snapshot.state["steps"] == steps + 12)
    assert sorted(directory.iterdir()) == before


@pytest.mark.session
@pytest.mark.parametrize("first", ["pause", "resume"])
@pytest.mark.parametrize("end", ["stopped", "killed"])
def test_the_end_of_a_session_ends_an_attached_process(watched, learner, first, end):
    """Whether the gate was closed or open, and also if nothing changes the gate any more."""
    watched.call(first)
    watched.end() if end == "stopped" else watched.process.kill()
    assert learner.ends() == ("stopped\n", 0)


@pytest.mark.session
def test_a_session_that_reaches_its_limit_ends_an_attached_process(tmp_path):
    """Without a stop: the training is over."""
    with session(tmp_path / "runs", seconds=1) as watched:
        watched.call("pause")
        with learning(watched.process.directory, tmp_path) as learner:
            watched.call("resume")
            watched.process.report()
            assert learner.ends() == ("stopped\n", 0)


@pytest.fixture
def directory():
    directory = new_directory()
    yield directory
    remove_directory(directory)


@pytest.fixture
def gate(directory):
    return Gate(directory)


@pytest.fixture
def passer(gate, directory):
    return Gate.attach(directory)


def test_every_attached_gate_has_its_own_count(gate, passer, directory):
    """A grant of two steps allows two passes in each process, but not in later ones; a pause cancels the rest."""
    gate.step(2)
    gate.enter()
    gate.enter()
    assert (gate.credits, passer.credits) == (0, 2)
    passer.enter()
    later = Gate.attach(directory)
    assert (passer.credits, later.credits) == (1, 0)
    gate.pause()
    assert passer.credits == 0
    gate.step(2)
    assert (gate.credits, passer.credits, later.credits) == (2, 2, 2)


def test_an_interruption_is_only_for_the_training_thread(gate, passer):
    """An attached process passes, and the interruption is still there for the session."""
    gate.interrupt()
    assert passer.enter() is False
    with pytest.raises(Interrupted):
        gate.enter()


def test_the_end_of_a_training_stops_attached_processes_alone(gate, passer):
    """A watched script continues when it is no longer watched."""
    gate.pause()
    gate.close()
    assert gate.enter() is False
    with pytest.raises(Stopped):
        passer.enter()


def test_attaching_needs_a_session_and_does_not_change_it(passer, tmp_path):
    """The mapping is read-only. The error says that there is no session, or that it has ended."""
    with pytest.raises(TypeError):
        passer.attention[0] = 1
    with pytest.raises(SessionGone, match="there is no session at"):
        Gate.attach(tmp_path)
    Gate(tmp_path)  # nobody owns this directory
    with pytest.raises(SessionGone, match="has ended"):
        Gate.attach(tmp_path)
