"""Measures how fast one thread works."""

from __future__ import annotations

from collections.abc import Callable
from time import thread_time

RUNS = 5


def median_rate(work: Callable[[], int], seconds: float) -> float:
    """Units of work per second, median of 5 runs; the first call, which may compile, is not counted.

    Seconds are the thread's processor time, so that what else runs on the machine hardly counts.
    """
    work()
    rates = []
    for _ in range(RUNS):
        done, start = 0, thread_time()
        while thread_time() - start < seconds / RUNS:
            done += work()
        rates.append(done / (thread_time() - start))
    return sorted(rates)[RUNS // 2]
