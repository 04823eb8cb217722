"""A restart waits for half a second, merges presses, and can be hurried or cancelled."""

import pytest

from pac.training.config import MAX_ENVS
from pac.tui.restart import DEBOUNCE, PendingRestart


@pytest.fixture
def clock():
    """A clock that stands until it is moved."""
    return [100.0]


@pytest.fixture
def pending(clock):
    """Nothing pending yet."""
    return PendingRestart(clock=lambda: clock[0])


def test_it_happens_after_the_debounce(pending, clock):
    """Not before, and only once."""
    pending.request(9)
    assert pending.take() is None
    clock[0] += DEBOUNCE
    assert pending.take() == 9
    assert pending.take() is None


def test_another_press_begins_the_countdown_anew(pending, clock):
    """Presses merge into one restart, at the last number."""
    pending.request(9)
    clock[0] += DEBOUNCE / 2
    pending.request(10)
    clock[0] += DEBOUNCE / 2
    assert pending.take() is None
    assert pending.seconds_left == pytest.approx(DEBOUNCE / 2)
    clock[0] += DEBOUNCE / 2
    assert pending.take() == 10


def test_it_can_be_hurried_and_cancelled(pending):
    """Enter takes it now, Esc forgets it."""
    pending.request(9)
    assert pending.take(now=True) == 9
    pending.request(9)
    assert pending.cancel()
    assert not pending.cancel()
    assert pending.take(now=True) is None


@pytest.mark.parametrize(("asked", "wanted"), [(0, 1), (-5, 1), (10**9, MAX_ENVS)])
def test_the_number_stays_possible(pending, asked, wanted):
    """Fewer than one or too many are never asked for."""
    pending.request(asked)
    assert pending.num_envs == wanted
