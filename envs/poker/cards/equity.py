"""Exact equities of a pair of cards against a random one, on every river and over all cards to come."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...fields import Array
from ...native import compiled
from .evaluator import CATEGORY, strength
from .notation import DECK
from .words import HOLE_CARDS, HOLE_WORDS, HOLES, RENAMING, RENAMING_BITS, place_of, word_of

LIVE = 47 * 46 // 2
"""Pairs of cards that do not clash with a river."""
FULL = 45 * 44
"""The equity of a pair that beats all others on a river: two for each of 990 opponents, one for a tie."""
IMPOSSIBLE = FULL + 1
"""The equity of a pair that clashes with the board."""
BINS = 32
"""Number of bins of a histogram of equities."""

DIGIT = 10
DIGIT_BITS = (1 << DIGIT) - 1
PASSES = (CATEGORY + 4) // DIGIT


class RiverEquities(NamedTuple):
    """Equities on all rivers, for kernels.

    Attributes:
        table: The table of dealt boards of five cards, see `CardBoards`.
        equities: `(134459, 1326)` uint16, 0 to `FULL`, or `IMPOSSIBLE`.
        renamings: The first result of `words.renamings`.
        rows: The second result of `words.renamings`.
    """

    table: Array
    equities: Array
    renamings: Array
    rows: Array


@compiled
def sort(keys: Array, spare: Array, counts: Array) -> None:
    """Sort words by the strength in their bits from 16 on, smallest first.

    Args:
        keys: `(LIVE,)` int64, sorted.
        spare: As `keys`, written.
        counts: `(1024,)` int64, written.
    """
    for turn in range(PASSES):
        shift = 16 + turn * DIGIT
        counts[:] = 0
        for key in keys:
            counts[key >> shift & DIGIT_BITS] += 1
        total = 0
        for digit in range(len(counts)):
            counts[digit], total = total, total + counts[digit]
        for key in keys:
            digit = key >> shift & DIGIT_BITS
            spare[counts[digit]] = key
            counts[digit] += 1
        for at in range(len(keys)):  # assigning a slice takes seconds to compile
            keys[at] = spare[at]


@compiled
def river_equities(words: Array, first: int, last: int, equities: Array) -> None:
    """Write the equities of all pairs of cards on rivers `first` to `last - 1`.

    Args:
        words: `(count,)` int64, the rivers.
        last: One after the last.
        equities: `(count, 1326)` uint16, written: twice the opponents' pairs beaten plus those tied, of 990.
    """
    keys, spare = np.empty(LIVE, np.int64), np.empty(LIVE, np.int64)
    counts = np.empty(1 << DIGIT, np.int64)
    beaten, tied = np.empty(DECK, np.int64), np.empty(DECK, np.int64)
    for board in range(first, last):
        word, row, live = words[board], equities[board], 0
        for hole in range(HOLES):
            row[hole] = IMPOSSIBLE
            if not word & HOLE_WORDS[hole]:
                keys[live] = strength(word | HOLE_WORDS[hole]) << 16 | hole
                live += 1
        sort(keys, spare, counts)
        beaten[:] = 0
        start = 0
        while start < LIVE:
            tied[:] = 0
            end = start
            while end < LIVE and keys[end] >> 16 == keys[start] >> 16:
                hole = keys[end] & 0xFFFF
                tied[HOLE_CARDS[hole, 0]] += 1
                tied[HOLE_CARDS[hole, 1]] += 1
                end += 1
            for at in range(start, end):
                hole = keys[at] & 0xFFFF
                one, other = HOLE_CARDS[hole, 0], HOLE_CARDS[hole, 1]
                wins = start - beaten[one] - beaten[other]
                ties = end - start - tied[one] - tied[other] + 1
                row[hole] = 2 * wins + ties
            for card in range(DECK):
                beaten[card] += tied[card]
            start = end


@compiled
def count_on(rivers: RiverEquities, word: int, holes: Array, bins: Array) -> None:
    """Count the equities of pairs of cards on one river into their bins.

    Args:
        word: The river.
        holes: `(n,)` uint16, pairs of cards.
        bins: `(n, BINS + 1)` uint16, added to; the last one counts what clashes with the river.
    """
    found = rivers.table[place_of(word)]
    row = rivers.equities[found >> RENAMING]
    renaming = rivers.renamings[rivers.rows[found & RENAMING_BITS]]
    for at in range(len(holes)):
        equity = np.uint32(row[renaming[holes[at]]])
        bins[at, equity * np.uint32(BINS) // np.uint32(IMPOSSIBLE)] += 1


@compiled
def histograms(rivers: RiverEquities, board: int, size: int, holes: Array, bins: Array) -> None:
    """Count the equities of pairs of cards over all rivers that a board leads to.

    Args:
        board: A flop or a turn, a word.
        size: Its cards, 3 or 4.
        holes: `(n,)` uint16, pairs of cards.
        bins: `(n, BINS + 1)` uint16, written; the last one counts what clashes with the cards to come or the board.
    """
    bins[:] = 0
    for card in range(DECK):
        with_card = board | word_of(card)
        if with_card == board:
            continue
        if size == 4:
            count_on(rivers, with_card, holes, bins)
            continue
        for later in range(card):
            river = with_card | word_of(later)
            if river != with_card and not board & word_of(later):
                count_on(rivers, river, holes, bins)
