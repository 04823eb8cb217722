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


class DrawingBudget:
    """Limits the time that drawing takes in this process.

    Args:
        clock: Returns the time in s.

    Attributes:
        parts: How many processes draw for the same training and wait for each other: each has this part of the share.
        seconds: How long the last picture took; 0 before the first.
        spent: How long all pictures took, in s.
        on_picture: Called with the seconds of each picture.
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self.parts = 1
        self.seconds = self.spent = 0.0
        self.on_picture: Callable[[float], object] = lambda _seconds: None
        self._clock = clock
        self._open_at = -math.inf

    def allows(self, spare: float = 0.0) -> bool:
        """Return whether something may be drawn now, if the training waits for `spare` seconds anyway."""
        return self._clock() >= self._open_at or spare > self.seconds

    def spend(self, wanted: Sequence[int], first: int, spare: float = 0.0) -> Generator[int]:
        """Yield those of the wanted boards that may be drawn now, each to be drawn before the next.

        Args:
            wanted: Indices of boards, in ascending order.
            first: The first of them whose turn it is.
            spare: Seconds for which the training waits anyway. Drawing during these does not count.
        """
        if not self.allows(spare):
            return
        begin = before = self._clock()
        try:
            for index in sorted(wanted, key=lambda index: index < first):
                if before - begin > max(MAX_TURN, spare):
                    break
                yield index
                now = self._clock()
                self.seconds, before = now - before, now
                self.spent += self.seconds
                self.on_picture(self.seconds)
        finally:
            now = self._clock()
            self._open_at = max(self._open_at, now + max(0.0, now - begin - spare) * self.parts / SHARE)


BUDGET = DrawingBudget()
"""That of this process."""


class Turns:
    """Shares the budget fairly between some boards: each is drawn before another is drawn again.

    Args:
        budget: The budget.
    """

    def __init__(self, budget: DrawingBudget = BUDGET) -> None:
        self._budget, self._next = budget, 0

    def choose(self, wanted: Sequence[int], spare: float = 0.0) -> Generator[int]:
        """Yield those of the wanted boards that may be drawn now, as `DrawingBudget.spend` does."""
        for index in self._budget.spend(wanted, self._next, spare):
            self._next = index + 1
            yield index


def limit_text(seconds: float) -> str:
    """Return how a picture that takes so many seconds is limited, for people; an empty text if nobody notices."""
    period = seconds / SHARE
    return f"a picture takes {1000 * seconds:.0f} ms: one every {period:.0f} s" if period >= 1 else ""
