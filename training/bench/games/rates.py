"""Measures the rate of one thread."""

from __future__ import annotations

from collections.abc import Callable
from time import thread_time

RUNS = 5


def median_rate(work: Callable[[], int], seconds: float) -> float:
    """Return units of work per second, the median of 5 runs. The first call, which may compile, is not counted.

    Seconds are CPU time of the thread, so other programs have little effect.
    """
    work()
    rates = []
    for _ in range(RUNS):
        done, start = 0, thread_time()
        while thread_time() - start < seconds / RUNS:
            done += work()
        rates.append(done / (thread_time() - start))
    return sorted(rates)[RUNS // 2]
