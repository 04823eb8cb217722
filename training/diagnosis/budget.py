"""Limits what is done again and again to a share of the CPU time, also where a training gets little of that."""

from __future__ import annotations

import time
from math import inf


class Budget:
    """Says when something may be done again; the CPU time is that of the process, since any thread may do it.

    Args:
        share: The largest share of the CPU time for it.
        period: Seconds, at least, from the beginning of one time to that of the next.
    """

    def __init__(self, share: float, period: float = 0.0) -> None:
        self._share, self._period = share, period
        self._due, self._affordable, self._begun = 0.0, -inf, 0.0

    @property
    def due(self) -> bool:
        """Whether it may be done."""
        return time.perf_counter() >= self._due and time.process_time() >= self._affordable

    def begin(self) -> None:
        """Note that it begins."""
        self._due, self._begun = time.perf_counter() + self._period, time.process_time()

    def end(self) -> None:
        """Note that it has been done."""
        now = time.process_time()
        self._affordable = now + (now - self._begun) / self._share

    def hurry(self) -> None:
        """Let it be done at once."""
        self._due, self._affordable = 0.0, -inf
