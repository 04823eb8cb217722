"""The gate: pass, pause, single steps and speed limit."""

import math
import threading
import time

import pytest

from pac.training.session.gate import Gate
from pac.training.trainer import Interrupted, Stopped

from ...waiting import until


@pytest.fixture
def gate(tmp_path):
    return Gate(tmp_path)


class Walker(threading.Thread):
    """A thread that passes the gate again and again until it is stopped."""

    def __init__(self, gate):
        super().__init__(daemon=True)
        self.gate, self.passed, self.moved = gate, 0, threading.Condition()

    def run(self):
        try:
            while True:
                self.gate.enter()
                with self.moved:
                    self.passed += 1
                    self.moved.notify_all()
        except Stopped:
            return

    def wait_for(self, count):
        with self.moved:
            return self.moved.wait_for(lambda: self.passed >= count, timeout=120)


@pytest.fixture
def walker(gate):
    thread = Walker(gate)
    yield thread
    gate.stop()
    thread.join(timeout=120)
    assert not thread.is_alive()


def test_a_gate_returns_the_time_until_the_next_step(gate, tmp_path):
    """An open one is passed without waiting; zero, the rest of a period, or infinity. Only this user can read it."""
    assert gate.enter() is False
    assert gate.wait_seconds == 0
    gate.set_speed(1e-6)
    gate.enter()
    assert 0 < gate.wait_seconds <= 1e6
    gate.pause()
    assert gate.wait_seconds == math.inf
    assert (tmp_path / "gate").stat().st_mode & 0o777 == 0o600


def test_a_closed_gate_lets_exactly_the_credited_steps_pass(gate, walker):
    """While paused, `step(3)` lets three passes through and no fourth."""
    gate.step(3)
    walker.start()
    assert walker.wait_for(3)
    assert gate.credits == 0
    assert gate.paused
    with walker.moved:
        assert not walker.moved.wait_for(lambda: walker.passed > 3, timeout=0.2)


def test_resume_opens_a_closed_gate_and_stop_ends_its_waiting(tmp_path):
    """Meanwhile the callback runs in the waiting thread, where telemetry is published."""
    called = threading.Event()
    gate = Gate(tmp_path, waiting=called.set)
    gate.pause()
    walker = Walker(gate)
    walker.start()
    assert called.wait(120)
    assert not walker.passed
    gate.resume()
    assert walker.wait_for(100)
    gate.pause()
    called.clear()
    assert called.wait(120)
    gate.stop()
    walker.join(60)
    assert not walker.is_alive()


def test_interrupt_is_raised_once(gate):
    """The training thread is interrupted once, then passes again."""
    gate.interrupt()
    with pytest.raises(Interrupted):
        gate.enter()
    assert gate.enter() is False


def test_late_passes_are_made_up_for(gate):
    """A thread that comes 8 ms late passes the next times without waiting, so that the limit is reached on average."""
    gate.set_speed(1000)
    gate.enter()
    late = time.monotonic() + 0.008
    until(lambda: time.monotonic() > late)
    assert not any(gate.enter() for _ in range(5))


@pytest.mark.parametrize("num_envs", [1, 50])
def test_a_speed_limit_counts_all_environments(gate, num_envs):
    """At 20 times as many steps per second, they pass every 50 ms, whether N or the limit was set last."""
    gate.set_num_envs(5)
    gate.set_speed(20 * num_envs)
    gate.set_num_envs(num_envs)
    begin = time.monotonic()
    waited = [gate.enter() for _ in range(4)]
    assert time.monotonic() - begin >= 0.14
    assert any(waited)


@pytest.mark.parametrize("sps", [1e-300, 5e-324, 1e300])
def test_no_finite_speed_is_too_large_or_too_small(gate, sps):
    """The time between two passes is limited to what its word can hold; speed 0 removes the limit."""
    gate.set_num_envs(1000)
    gate.set_speed(sps)
    gate.enter()
    assert gate.wait_seconds >= 0
    gate.set_speed(0)
    assert [gate.enter() for _ in range(5)] == [False] * 5
