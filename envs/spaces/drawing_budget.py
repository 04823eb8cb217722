"""How much of a training's time drawing may take: one budget for each process, which all boards in it share.

A picture may take longer than a thousand steps. While a training runs, boards are then drawn less often. Where it waits
anyway, as while it is paused, drawing costs nothing.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Sequence

SHARE = 0.01
"""The largest share of a training's time that drawing may take."""
MAX_TURN = 0.005
"""Seconds after which no further board is drawn at once."""
FIRST = 0.1
"""How much of a board's first picture counts, for which a window or a context is opened once."""


class DrawingBudget:
    """Limits the time that drawing takes in this process.

    Args:
        clock: Returns the time in s.

    Attributes:
        parts: How many processes draw for the same training and wait for each other: each has this part of the share.
        seconds: How long the last picture took that was not the first of its board; 0 before.
        spent: How long all pictures took, in s.
        on_picture: Called with both after each picture.
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self.parts = 1
        self.seconds = self.spent = 0.0
        self.on_picture: Callable[[float, float], object] = lambda _seconds, _spent: None
        self._clock = clock
        self._open_at = -math.inf

    def allows(self, spare: float = 0.0) -> bool:
        """Return whether something may be drawn now, if the training waits for `spare` seconds anyway."""
        return self._clock() >= self._open_at or spare > self.seconds

    def spend(self, wanted: Sequence[int], first: int, known: set[int], spare: float = 0.0) -> Generator[int]:
        """Yield those of the wanted boards that may be drawn now, each to be drawn before the next.

        Args:
            wanted: Indices of boards, in ascending order.
            first: The first of them whose turn it is.
            known: Those that have been drawn before; others are added.
            spare: Seconds for which the training waits anyway. Drawing during these does not count.
        """
        if not self.allows(spare):
            return
        begin = before = self._clock()
        opening = 0.0
        try:
            for index in sorted(wanted, key=lambda index: index < first):
                if before - begin > max(MAX_TURN, spare):
                    break
                yield index
                now = self._clock()
                took, before = now - before, now
                self.spent += took
                if index in known:
                    self.seconds = took
                else:
                    known.add(index)
                    opening += took
                self.on_picture(self.seconds, self.spent)
        finally:
            now = self._clock()
            cost = max(0.0, now - begin - (1 - FIRST) * opening - spare)
            self._open_at = max(self._open_at, now + cost * self.parts / SHARE)


BUDGET = DrawingBudget()
"""That of this process."""


class Turns:
    """Shares the budget fairly between some boards: each is drawn before another is drawn again."""

    def __init__(self, budget: DrawingBudget = BUDGET) -> None:
        self._budget, self._next, self._known = budget, 0, set[int]()

    def choose(self, wanted: Sequence[int], spare: float = 0.0) -> Generator[int]:
        """Yield those of the wanted boards that may be drawn now, as `DrawingBudget.spend` does."""
        for index in self._budget.spend(wanted, self._next, self._known, spare):
            self._next = index + 1
            yield index


def limit_text(seconds: float) -> str:
    """Return how a picture that takes so many seconds is limited, for people; an empty text if nobody notices."""
    period = seconds / SHARE
    return f"a picture takes {1000 * seconds:.0f} ms: one every {period:.0f} s" if period >= 1 else ""
