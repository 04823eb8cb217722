"""Keeps the app cheap: how often each part is drawn, and how much less often when that costs too much."""

from __future__ import annotations

import time
from collections.abc import Callable

from .preferences import preferences

RATES = preferences().rates
FOCUS, GRID, FIGURES, SYSTEM = 1 / RATES.environment, 1 / RATES.grid, 1 / RATES.figures, 1 / RATES.system
BUDGET = 0.035  # of one core; below the bound of 5 %, since the cost is known only afterwards
SLOWEST = 8.0
MEASURE = 1.0


class RefreshScheduler:
    """Tells what is due, and measures what the app costs.

    Attributes:
        cost: Share of one core that the app took over the last second.
        stretch: Factor by which the time between two drawings is longer than wished.
    """

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, cpu: Callable[[], float] = time.process_time
    ) -> None:
        self.cost = 0.0
        self.stretch = 1.0
        self._clock = clock
        self._cpu = cpu
        self._due: dict[str, float] = {}
        self._early: set[str] = set()
        self._measured = (clock(), cpu())

    def due(self, part: str, period: float) -> bool:
        """Whether `part`, wished for every `period` seconds, is to be drawn now; if so, its time begins anew."""
        now = self._clock()
        if now < self._due.get(part, 0.0):
            self._early.add(part)
            return False
        self._early.discard(part)
        # Half a tick early is better than a whole one late.
        self._due[part] = now + period * self.stretch - FOCUS / 2
        return True

    def owed(self, *parts: str) -> bool:
        """Whether a part was asked for before its time, and its time has come: without news nobody asks again."""
        now = self._clock()
        return any(part in self._early and now >= self._due.get(part, 0.0) for part in parts)

    def at_once(self) -> None:
        """Draw everything at the next occasion: a key was pressed."""
        self._due.clear()

    def measure(self) -> None:
        """Learn what the last second cost, and adapt."""
        now, cpu = self._clock(), self._cpu()
        then, before = self._measured
        if now - then < MEASURE:
            return
        self.cost = (cpu - before) / (now - then)
        self._measured = (now, cpu)
        wished = self.stretch * self.cost / BUDGET
        # At once towards cheaper, slowly back: a cost that comes and goes must not swing the rates.
        self.stretch = min(SLOWEST, max(1.0, wished if wished > self.stretch else 0.5 * (self.stretch + wished)))
