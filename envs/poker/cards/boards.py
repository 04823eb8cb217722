"""Boards up to a renaming of suits: 1,755 flops, 16,432 turns, whose order does not count, and 134,459 rivers."""

from __future__ import annotations

from math import comb
from typing import NamedTuple

import numpy as np

from ...fields import Array
from .compiled import compiled
from .notation import DECK
from .words import after, place_of, renamed, renaming_of

RENAMING = 8
"""A number of a table of boards is the board's index, then the renaming of suits in so many bits."""
RENAMING_BITS = (1 << RENAMING) - 1


class CardBoards(NamedTuple):
    """All boards of so many cards.

    Attributes:
        table: int32, for every dealt board by `place_of`: its index and the renaming that leads to it, as `RENAMING`.
        words: `(count,)` int64, the board that stands for each index.
        weights: `(count,)` int64, the number of dealt boards for which it stands.
    """

    table: Array
    words: Array
    weights: Array


@compiled
def rename_all(size: int, places: Array, words: Array, found: Array) -> None:
    """Find for all boards of `size` cards, in order, the place of the one that stands for it, and the renaming."""
    word = (1 << size) - 1
    for place in range(len(places)):
        renaming = renaming_of(word)
        places[place], words[place], found[place] = place_of(renamed(word, renaming)), word, renaming
        word = after(word)


def boards(size: int) -> CardBoards:
    """Return all boards of `size` cards, 3 to 5."""
    count = comb(DECK, size)
    places, words, found = (np.empty(count, np.int64) for _ in range(3))
    rename_all(size, places, words, found)
    standing = places == np.arange(count)
    index = (np.cumsum(standing) - 1)[places]
    return CardBoards((index << RENAMING | found).astype(np.int32), words[standing], np.bincount(index))
