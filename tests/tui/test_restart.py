"""A restart waits for half a second, merges presses, and can be hurried or canceled."""

import pytest

from pac.training.limits import MAX_ENVS
from pac.tui.app.session_commands import DEBOUNCE, PendingRestart


@pytest.fixture
def clock():
    """A clock that the test sets."""
    return [100.0]


@pytest.fixture
def pending(clock):
    """No restart is pending yet."""
    return PendingRestart(clock=lambda: clock[0])


def test_a_restart_happens_after_half_a_second(pending, clock):
    """Not before, and only once."""
    pending.request(9)
    assert pending.take() is None
    clock[0] += DEBOUNCE
    assert pending.take() == 9
    assert pending.take() is None


def test_another_press_restarts_the_countdown(pending, clock):
    """Presses become one restart with the last number."""
    pending.request(9)
    clock[0] += DEBOUNCE / 2
    pending.request(10)
    clock[0] += DEBOUNCE / 2
    assert pending.take() is None
    assert pending.seconds_left == pytest.approx(DEBOUNCE / 2)
    clock[0] += DEBOUNCE / 2
    assert pending.take() == 10


def test_a_restart_can_be_hurried_and_canceled(pending):
    """Enter takes it now, Esc cancels it."""
    pending.request(9)
    assert pending.take(now=True) == 9
    pending.request(9)
    assert pending.cancel()
    assert not pending.cancel()
    assert pending.take(now=True) is None


@pytest.mark.parametrize(("asked", "wanted"), [(0, 1), (-5, 1), (10**9, MAX_ENVS)])
def test_the_number_of_environments_is_limited(pending, asked, wanted):
    """To at least one and at most the maximum."""
    pending.request(asked)
    assert pending.num_envs == wanted
