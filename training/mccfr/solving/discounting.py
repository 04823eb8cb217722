"""Discounted regret minimisation (Brown and Sandholm, 2019) under sampling: all entries at once, now and then."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..compiled import compiled

ALPHA, BETA, GAMMA = 1.5, 0.0, 2.0


def discount(table: NDArray[np.float32], first: int, last: int, period: int) -> None:
    """Let what was learned by the end of a period, the first being 1, count less.

    Args:
        table: `(entries, 2)`.
        first: The first entry that is changed.
        last: The first that is not any more.
        period: Its number.
    """
    above, below = period**ALPHA, period**BETA
    keep = [above / (above + 1), below / (below + 1), (period / (period + 1)) ** GAMMA]
    scale(table[first:last], *map(np.float32, keep))


def weight_of(iterations: int, interval: int) -> float:
    """Return what iterations weigh together in regrets above 0: discounted before every period but the first."""
    periods = max(0, iterations - 1) // interval
    above = np.arange(1, periods + 1) ** ALPHA
    return iterations - periods * interval + interval * float(np.cumprod((above / (above + 1))[::-1]).sum())


@compiled
def scale(table: NDArray[np.float32], above: np.float32, below: np.float32, sums: np.float32) -> None:
    """Multiply regrets above and below 0, and the sums of the average."""
    for entry in range(len(table)):
        table[entry, 0] *= above if table[entry, 0] > 0 else below
        table[entry, 1] *= sums
