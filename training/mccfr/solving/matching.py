"""Regret matching on the entries of one row, and the sums of the average strategy.

A table is flat: the regret of entry e is at `2 * e` and its part of the average at `2 * e + 1`, in the same cache line.
The rest of that part, if it has one, is at `e` of another array.
Indices are unsigned, so compiled code has no branch for negative ones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..compiled import compiled, inlined

ZERO = np.float32(0)
ONE = np.float32(1)
TWO = np.uint64(2)
UNIT = np.float32(2.0**-24)
LOW = np.uint64(0xFF_FFFF)
EXACT = np.float32(2**16)
"""Weighted visits of a row after which a float32 sum rounds what a visit adds, so the rest is kept beside it."""


SPARE = np.uint64(64)
"""Elements of `rests` before those of the first entry, which stay 0: a row has fewer actions."""


@inlined
def uniform(word: np.uint64) -> np.float32:
    """The upper bits of a random word, as a number in [0, 1)."""
    return np.float32(np.int64(word >> np.uint64(40))) * UNIT


@inlined
def matched(table: NDArray[np.float32], at: np.uint64, degree: np.uint64) -> np.float32:
    """The sum of a row's positive regrets."""
    total = ZERO
    for action in range(degree):
        total += max(table[at + TWO * action], ZERO)
    return total


@inlined
def chance(
    table: NDArray[np.float32], at: np.uint64, degree: np.uint64, total: np.float32, action: np.uint64
) -> np.float32:
    """The probability of an action of a row whose positive regrets have the sum `total`."""
    return max(table[at + TWO * action], ZERO) / total if total > ZERO else ONE / np.float32(degree)


@inlined
def pick(
    table: NDArray[np.float32], at: np.uint64, degree: np.uint64, total: np.float32, share: np.float32
) -> np.uint64:
    """The action at `share`, in [0, 1), of the row's cumulative strategy."""
    if total <= ZERO:
        return np.uint64(share * np.float32(degree))
    left, chosen = share * total, np.uint64(0)
    for action in range(degree):
        left -= max(table[at + TWO * action], ZERO)
        chosen += np.uint64(left >= ZERO)
    return min(chosen, degree - np.uint64(1))


@inlined
def follow(
    table: NDArray[np.float32],
    rests: NDArray[np.float32],
    at: np.uint64,
    degree: np.uint64,
    word: np.uint64,
    weight: np.float32,
) -> np.uint64:
    """Draw an action by regret matching from a random word, and add the weighted strategy to the row's average.

    The sums of rows with many visits are pairs: what a sum cannot represent is in `rests`, and is added to it as soon
    as it can be (Kahan, 1965).
    """
    total, had = ZERO, ZERO
    for action in range(degree):
        total += max(table[at + TWO * action], ZERO)
        had += table[at + TWO * action + np.uint64(1)]
    often = had > EXACT * weight
    first = (at >> np.uint64(1)) + SPARE if often else np.uint64(0)
    for action in range(degree):
        place, rest = at + TWO * action + np.uint64(1), first + action
        before = table[place]
        added = rests[rest] + weight * chance(table, at, degree, total, np.uint64(action))
        table[place] = before + added
        rests[rest] = added - (table[place] - before) if often else ZERO
    return pick(table, at, degree, total, uniform(word))


ALPHA, BETA, GAMMA = 1.5, 0.0, 2.0


def discount(table: NDArray[np.float32], first: int, last: int, period: int) -> None:
    """Discount entries at the end of a period; the first one is number 1.

    Args:
        table: `(entries, 2)`.
        first: The first entry.
        last: One after the last entry.
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
