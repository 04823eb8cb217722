"""The lines of this process that allocate memory and keep it, by `tracemalloc`, on demand."""

from __future__ import annotations

import os
import time
import tracemalloc
from typing import Any

MOST_SECONDS = 60.0
"""The longest time for which allocations are followed, in s."""
SETTLING = 0.2
"""The share of that time before the first snapshot: what lives for a step or an iteration is in both."""
MOST_LINES = 20
OWN = (tracemalloc.__file__, __file__)


def allocations(name: str, seconds: float) -> dict[str, Any]:
    """Follow allocations for so long from now; return the lines whose memory has grown most between two snapshots.

    Everything in Python is slower meanwhile. What was allocated before and what libraries allocate without Python, such
    as PyTorch, is not seen. A process that follows its allocations anyway goes on with it.
    """
    followed = tracemalloc.is_tracing()
    if not followed:
        tracemalloc.start()
    try:
        time.sleep(SETTLING * seconds)
        first = tracemalloc.take_snapshot()
        time.sleep((1 - SETTLING) * seconds)
        second = tracemalloc.take_snapshot()
        cost = tracemalloc.get_tracemalloc_memory()
    finally:
        if not followed:
            tracemalloc.stop()
    hidden = [tracemalloc.Filter(inclusive=False, filename_pattern=file) for file in OWN]
    found = second.filter_traces(hidden).compare_to(first.filter_traces(hidden), "lineno")
    grown = sorted((one for one in found if one.size_diff > 0), key=lambda one: -one.size_diff)
    return {
        "process": name,
        "pid": os.getpid(),
        "seconds": (1 - SETTLING) * seconds,
        "cost": cost,
        "lines": [
            [one.traceback[0].filename, one.traceback[0].lineno, one.size_diff, one.count_diff]
            for one in grown[:MOST_LINES]
        ],
    }
