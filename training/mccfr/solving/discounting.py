"""Discounted regret minimization (Brown and Sandholm, 2019) for sampling: all entries are discounted periodically."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..compiled import compiled

ALPHA, BETA, GAMMA = 1.5, 0.0, 2.0


def discount(table: NDArray[np.float32], first: int, last: int, period: int) -> None:
    """Discount entries at the end of a period; the first one is number 1.

    Args:
        table: `(entries, 2)`.
        first: The first entry.
        last: One after the last entry.
        period: The number of the period.
    """
    above, below = period**ALPHA, period**BETA
    keep = [above / (above + 1), below / (below + 1), (period / (period + 1)) ** GAMMA]
    scale(table[first:last], *map(np.float32, keep))


def weight_of(iterations: int, interval: int) -> float:
    """Return the sum of the weights of iterations in positive regrets. All periods except the last are discounted."""
    periods = max(0, iterations - 1) // interval
    above = np.arange(1, periods + 1) ** ALPHA
    return iterations - periods * interval + interval * float(np.cumprod((above / (above + 1))[::-1]).sum())


@compiled
def scale(table: NDArray[np.float32], above: np.float32, below: np.float32, sums: np.float32) -> None:
    """Multiply positive regrets, negative regrets and the sums of the average strategy."""
    for entry in range(len(table)):
        table[entry, 0] *= above if table[entry, 0] > 0 else below
        table[entry, 1] *= sums
