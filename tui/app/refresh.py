"""How often each part of the screen is drawn, and how much less often when that costs too much."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Literal, TypeAlias

from ..preferences import preferences

BUDGET = 0.035  # of one core; less than the limit of 5 %, since the cost is known only afterwards
PICTURES_BUDGET = 0.13
"""Of one core, with real pictures on the screen."""
BESIDE, BELOW = 2.0, 4.0
"""How much less often text is drawn beside pictures; and below a dialog, where Textual draws all for each change."""
PICTURES_LAST = 4.0
"""How much less often everything else is drawn before pictures are."""
SLOWEST = 8.0
MEASURE = 1.0


Rate: TypeAlias = Literal["environment", "grid", "figures", "system"]


def interval(rate: Rate) -> float:
    """Return the seconds between two drawings at a rate of the preferences."""
    return 1 / float(getattr(preferences().rates, rate))


class RefreshScheduler:
    """Says which parts of the screen are due, and measures what the app costs.

    Attributes:
        cost: Share of one core that the app used in the last second.
        slowdown: Factor by which parts are drawn less often than the preferences say.
        beside: Factor besides, for text where there are real pictures.
    """

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, cpu: Callable[[], float] = time.process_time
    ) -> None:
        self.cost = 0.0
        self.slowdown = self.beside = 1.0
        self._clock = clock
        self._cpu = cpu
        self._due: dict[str, float] = {}
        self._early: set[str] = set()
        self._measured = (clock(), cpu())

    def due(self, part: str, period: float) -> bool:
        """Return whether `part`, drawn every `period` seconds, is due. If it is, its period starts again."""
        now = self._clock()
        if now < self._due.get(part, 0.0):
            self._early.add(part)
            return False
        self._early.discard(part)
        # Half a tick early is better than a whole one late.
        self._due[part] = now + period * self.slowdown * self.beside - interval("environment") / 2
        return True

    def overdue(self, *parts: str) -> bool:
        """Return whether a part was not due when `due` was called, and is due now."""
        now = self._clock()
        return any(part in self._early and now >= self._due.get(part, 0.0) for part in parts)

    def expire_all(self) -> None:
        """Make every part due: a key was pressed."""
        self._due.clear()

    def measure(self, budget: float = BUDGET) -> None:
        """Measure the cost once per second, and adapt the slowdown to what the app may cost."""
        now, cpu = self._clock(), self._cpu()
        then, before = self._measured
        if now - then < MEASURE:
            return
        self.cost = (cpu - before) / (now - then)
        self._measured = (now, cpu)
        wanted = self.slowdown * self.cost / budget
        # Slow down at once and recover slowly: a cost that comes and goes must not swing the rates.
        self.slowdown = min(SLOWEST, max(1.0, wanted if wanted > self.slowdown else 0.5 * (self.slowdown + wanted)))

    @property
    def pictures_slowdown(self) -> float:
        """Factor for real pictures: everything else is drawn less often first, since they cost the least."""
        return max(1.0, self.slowdown / PICTURES_LAST)
