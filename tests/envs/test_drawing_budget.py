"""Drawing takes at most a share of the time, which boards share fairly."""

from __future__ import annotations

import math
from collections import Counter

import pytest

from pac.envs.spaces.drawing import SHARE, DrawingBudget, Turns, limit_text


class Clock:
    """A clock that is moved by what happens."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def drawn(seconds: float, *, boards: int, steps: int, step: float, parts: int = 1) -> tuple[float, Counter[int]]:
    """Return the share of the time that drawing takes, and how often each of some boards is drawn.

    Args:
        seconds: How long a picture takes.
        boards: Number of boards, all of which are always wanted.
        steps: Number of steps.
        step: How long a step takes, in s.
        parts: In how many processes others draw.
    """
    clock, counts = Clock(), Counter[int]()
    budget = DrawingBudget(clock)
    budget.parts = parts
    turns = Turns(budget)
    for _ in range(steps):
        clock.now += step
        for board in turns.choose(range(boards)):
            clock.now += seconds
            counts[board] += 1
    return sum(counts.values()) * seconds / clock.now, counts


@pytest.mark.parametrize("seconds", [0.0001, 0.005, 0.05, 0.4])
def test_drawing_takes_at_most_its_share(seconds):
    """However long a picture takes; but not much less, if all boards are always wanted."""
    step = max(0.001, seconds / 20)
    share, _ = drawn(seconds, boards=4, steps=int(200 * seconds / SHARE / step), step=step)
    assert 0.8 * SHARE < share < 1.05 * SHARE


def test_boards_are_drawn_equally_often():
    """Each has its turn, although only one is drawn at once."""
    _, counts = drawn(0.05, boards=4, steps=100_000, step=0.001)
    assert len(counts) == 4
    assert max(counts.values()) - min(counts.values()) <= 1


@pytest.mark.thorough
def test_processes_that_wait_for_each_other_share_the_budget():
    """Each of four has a quarter of it."""
    share, _ = drawn(0.005, boards=2, steps=200_000, step=0.001, parts=4)
    assert share == pytest.approx(SHARE / 4, rel=0.1)


def test_drawing_costs_nothing_while_the_training_waits():
    """All boards are drawn at once, and the budget is as before."""
    clock = Clock()
    budget = DrawingBudget(clock)
    turns = Turns(budget)
    for _ in range(2):
        for board in turns.choose(range(3), math.inf):
            assert board in range(3)
            clock.now += 1.0
    assert clock.now == 6.0
    assert budget.seconds == 1.0
    assert list(turns.choose([0])) == [0]


def test_what_is_opened_for_the_first_picture_of_a_board_counts_little():
    """Else, four seconds once would leave all other boards blank for minutes, and be told as the time of a picture."""
    clock = Clock()
    budget = DrawingBudget(clock)
    turns = Turns(budget)
    for board, seconds in ((0, 4.0), (1, 1.0), (0, 0.1)):
        for chosen in turns.choose(range(2)):
            assert chosen == board
            clock.now += seconds
        assert not budget.allows()
        clock.now += 4.0 / SHARE * 0.11
        assert budget.allows()
    assert budget.seconds == pytest.approx(0.1)
    assert budget.spent == pytest.approx(5.1)


def test_a_picture_that_nobody_misses_is_not_mentioned():
    """A limit is named only if there is less than one picture per second."""
    assert not limit_text(0.005)
    assert limit_text(0.405) == "a picture takes 405 ms: one every 40 s"
