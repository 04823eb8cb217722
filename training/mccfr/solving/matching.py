"""Regret matching on the entries of one row, and the sums of which the average strategy is made.

A table is flat: entry e has its regret at `2 * e` and its part of the average at `2 * e + 1`, so that one cache line
serves both. Places are unsigned: compiled code then need not ask whether they count from the end.
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
"""Visits of a row, by weight, after which only some count for the average, and more each."""


@inlined
def uniform(word: np.uint64) -> np.float32:
    """The upper bits of a random word, as a number of [0, 1)."""
    return np.float32(np.int64(word >> np.uint64(40))) * UNIT


@inlined
def counted(had: np.float32, weight: np.float32, word: np.uint64) -> np.float32:
    """The weight with which a visit counts for the average of a row whose sum is `had`.

    To a sum of 2^24, float32 cannot add 1. So once a row has had `THIN` visits, one counts with a probability that
    falls as the sum grows, and weighs as much more: the sum's expectation stays exact, and additions matter.
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
    """The action at a share of [0, 1) of the row's strategy."""
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
    """Draw an action by regret matching from a random word, and add the strategy to the row's average, by weight."""
    total, had = ZERO, ZERO
    for action in range(degree):
        total += max(table[at + TWO * action], ZERO)
        had += table[at + TWO * action + np.uint64(1)]
    weight = counted(had, weight, word)
    for action in range(degree):
        table[at + TWO * action + np.uint64(1)] += weight * chance(table, at, degree, total, np.uint64(action))
    return pick(table, at, degree, total, uniform(word))
