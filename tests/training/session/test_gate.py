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


def test_an_open_gate_is_passed_without_waiting(gate):
    """`enter` returns at once, and returns that it did not wait."""
    assert gate.enter() is False


def test_a_gate_returns_the_time_until_the_next_step(gate):
    """Zero, the rest of a period, or infinity."""
    assert gate.wait_seconds == 0
    gate.set_speed(1e-6)
    gate.enter()
    assert 0 < gate.wait_seconds <= 1e6
    gate.pause()
    assert gate.wait_seconds == math.inf


def test_a_closed_gate_lets_exactly_the_credited_steps_pass(gate, walker):
    """While paused, `step(3)` lets three passes through and no fourth."""
    gate.step(3)
    walker.start()
    assert walker.wait_for(3)
    assert gate.credits == 0
    assert gate.paused
    with walker.moved:
        assert not walker.moved.wait_for(lambda: walker.passed > 3, timeout=0.2)


def test_resume_opens_a_closed_gate(gate, walker):
    """A paused thread continues when resumed."""
    gate.pause()
    walker.start()
    gate.resume()
    assert walker.wait_for(100)


def test_waiting_is_called_while_the_gate_is_closed(tmp_path):
    """The callback runs in the waiting thread, where telemetry is published."""
    called = threading.Event()
    gate = Gate(tmp_path, waiting=called.set)
    gate.pause()
    walker = Walker(gate)
    walker.start()
    assert called.wait(120)
    gate.stop()
    walker.join(60)


def test_stop_is_raised_even_behind_a_closed_gate(gate, walker):
    """A paused session can be stopped."""
    gate.pause()
    walker.start()
    gate.stop()
    walker.join(60)
    assert not walker.is_alive()


def test_interrupt_is_raised_once(gate):
    """The training thread is interrupted once, then passes again."""
    gate.interrupt()
    with pytest.raises(Interrupted):
        gate.enter()
    assert gate.enter() is False


def test_a_speed_limit_spaces_the_passes(gate):
    """At 200 passes per second, 20 passes take at least 95 ms, and `enter` returns that it waited."""
    gate.set_speed(200)
    begin = time.monotonic()
    waited = [gate.enter() for _ in range(20)]
    assert time.monotonic() - begin >= 0.09
    assert any(waited)


def test_late_passes_are_made_up_for(gate):
    """A thread that comes 8 ms late passes the next times without waiting, so that the limit is reached on average."""
    gate.set_speed(1000)
    gate.enter()
    late = time.monotonic() + 0.008
    until(lambda: time.monotonic() > late)
    assert not any(gate.enter() for _ in range(5))


def test_a_speed_limit_counts_all_environments(gate):
    """At 1,000 steps per second, 50 environments pass every 50 ms, whether N or the limit was set last."""
    gate.set_num_envs(5)
    gate.set_speed(1000)
    gate.set_num_envs(50)
    begin = time.monotonic()
    for _ in range(4):
        gate.enter()
    assert time.monotonic() - begin >= 0.09


@pytest.mark.parametrize("sps", [1e-300, 5e-324, 1e300])
def test_no_finite_speed_is_too_large_or_too_small(gate, sps):
    """The time between two passes is limited to what its word can hold."""
    gate.set_num_envs(1000)
    gate.set_speed(sps)
    gate.enter()
    assert gate.wait_seconds >= 0


def test_no_speed_limit_after_zero(gate):
    """Speed 0 removes the limit."""
    gate.set_speed(1)
    gate.set_speed(0)
    assert [gate.enter() for _ in range(5)] == [False] * 5


def test_only_this_user_can_read_the_gate(gate, tmp_path):
    """The segment is mode 0600."""
    assert (tmp_path / "gate").stat().st_mode & 0o777 == 0o600
