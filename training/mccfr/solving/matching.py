"""Regret matching on the entries of one row, and the sums of the average strategy.

A table is flat: the regret of entry e is at `2 * e` and its part of the average at `2 * e + 1`, in the same cache line.
Indices are unsigned, so compiled code has no branch for negative ones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..compiled import inlined

ZERO = np.float32(0)
ONE = np.float32(1)
TWO = np.uint64(2)
UNIT = np.float32(2.0**-24)
LOW = np.uint64(0xFF_FFFF)
THIN = np.float32(2**18)
"""Weighted visits of a row after which only some visits are counted for the average, with a larger weight each."""


@inlined
def uniform(word: np.uint64) -> np.float32:
    """The upper bits of a random word, as a number in [0, 1)."""
    return np.float32(np.int64(word >> np.uint64(40))) * UNIT


@inlined
def counted(had: np.float32, weight: np.float32, word: np.uint64) -> np.float32:
    """The weight of a visit in the average of a row whose sum is `had`.

    float32 cannot add 1 to a sum of 2^24. So after `THIN` visits of a row, a visit is counted with a probability that
    falls as the sum grows, and with a weight that grows inversely. The expectation of the sum stays exact.
    """
    least = THIN * weight
    if had <= least:
        return weight
    share = np.float32(np.int64(word & LOW)) * UNIT
    return had / THIN if share * had < least else ZERO


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
    table: NDArray[np.float32], at: np.uint64, degree: np.uint64, word: np.uint64, weight: np.float32
) -> np.uint64:
    """Draw an action by regret matching from a random word, and add the weighted strategy to the row's average."""
    total, had = ZERO, ZERO
    for action in range(degree):
        total += max(table[at + TWO * action], ZERO)
        had += table[at + TWO * action + np.uint64(1)]
    weight = counted(had, weight, word)
    for action in range(degree):
        table[at + TWO * action + np.uint64(1)] += weight * chance(table, at, degree, total, np.uint64(action))
    return pick(table, at, degree, total, uniform(word))
