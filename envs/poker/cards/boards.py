"""Boards up to a renaming of suits: 1,755 flops, 16,432 turns and 134,459 rivers; the order of cards is ignored."""

from __future__ import annotations

from math import comb
from typing import NamedTuple

import numpy as np

from ...fields import Array
from ...native import compiled
from .notation import DECK
from .words import after, place_of, renamed, renaming_of

RENAMING = 8
"""Bits of the renaming of suits in an entry of a table of boards; the board's index is above them."""
RENAMING_BITS = (1 << RENAMING) - 1


class CardBoards(NamedTuple):
    """All boards with the same number of cards.

    Attributes:
        table: int32, for every dealt board by `place_of`, its index and the renaming of its suits; see `RENAMING`.
        words: `(count,)` int64, the canonical board of each index.
        weights: `(count,)` int64, the number of dealt boards with that canonical board.
    """

    table: Array
    words: Array
    weights: Array


@compiled
def rename_all(size: int, places: Array, words: Array, found: Array) -> None:
    """Write for all boards of `size` cards, in order, the place of its canonical board, its word and the renaming."""
    word = (1 << size) - 1
    for place in range(len(places)):
        renaming = renaming_of(word)
        places[place], words[place], found[place] = place_of(renamed(word, renaming)), word, renaming
        word = after(word)


def boards(size: int) -> CardBoards:
    count = comb(DECK, size)
    places, words, found = (np.empty(count, np.int64) for _ in range(3))
    rename_all(size, places, words, found)
    canonical = places == np.arange(count)
    index = (np.cumsum(canonical) - 1)[places]
    return CardBoards((index << RENAMING | found).astype(np.int32), words[canonical], np.bincount(index))
