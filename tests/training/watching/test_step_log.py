"""What a watched training's steps are copied as."""

import numpy as np
import pytest

from pac.training.watching.step_log import SMALL_BYTES, StepLog

OBSERVED = np.zeros((3, 2), np.float32)
REWARDS, NEVER = np.array([1.0, 2.0, 3.0]), np.zeros(3, np.bool_)


def noted(actions, rewards, observed=OBSERVED, first=OBSERVED, terminated=NEVER):
    """Two steps, the first of which is usual."""
    step_log = StepLog(3, np.dtype("i8"), first)
    for given in ((np.arange(3), REWARDS, NEVER, first), (actions, rewards, terminated, observed)):
        step_log.before(given[0])
        step_log.after((given[3], given[1], given[2], NEVER, {}))
    return step_log.take()


@pytest.mark.parametrize("actions", [np.arange(3, dtype="i4"), [0, 1, 2], np.arange(6)[::2] // 2, np.arange(3.0)])
@pytest.mark.parametrize("rewards", [np.array([1, 2, 3]), [1, 2, 3], np.repeat(REWARDS, 2)[::2], REWARDS.astype("f4")])
def test_a_step_of_another_kind_says_the_same(actions, rewards):
    """Lists, other types of numbers, arrays that are not in one piece."""
    steps = noted(actions, rewards)
    assert steps.actions[1, :, 0].tolist() == [0, 1, 2]
    assert steps.rewards[1].tolist() == [1.0, 2.0, 3.0]


def test_what_is_written_into_afterwards_stays_as_it_was():
    """Environments that use their arrays again."""
    step_log, rewards = StepLog(3, np.dtype("i8"), OBSERVED), np.zeros(3)
    for step in range(3):
        rewards[:] = step
        step_log.before(np.arange(3))
        step_log.after((OBSERVED, rewards, NEVER, NEVER, {}))
    taken = step_log.take()
    assert taken is not None
    assert taken.rewards.tolist() == [[step] * 3 for step in range(3)]
    assert step_log.take() is None


@pytest.mark.parametrize("width", [2, SMALL_BYTES])
def test_who_observes_what_is_no_number_is_found(width):
    """In batches that are copied and in those that are looked at."""
    seen = np.zeros((3, width), np.float32)
    bad = seen.copy()
    bad[1, -1] = np.nan
    steps = noted(np.arange(3), REWARDS, bad, seen)
    assert steps.unknown == [1]


def test_flags_may_be_numbers():
    """And observations of another type than the first."""
    steps = noted(np.arange(3), REWARDS, OBSERVED.astype("f8"), terminated=np.array([0, 1, 0]))
    assert steps.terminated[1].tolist() == [False, True, False]
    assert steps.unknown == []
