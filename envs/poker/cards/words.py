"""Sets of cards as words of 52 bits: 13 for each suit, the deuce lowest, clubs in the lowest 13."""

from __future__ import annotations

from itertools import permutations
from math import comb
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from ...fields import Array
from ...native import compiled
from .notation import CLASSES, DECK, RANKS, SUITS


def _ones(_context: Any, word: Any) -> Any:
    def build(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return word(word), build


def _lowest(_context: Any, word: Any) -> Any:
    def build(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], context.get_constant(types.boolean, True))

    return word(word), build


def _highest(_context: Any, word: Any) -> Any:
    def build(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        zeros = builder.ctlz(arguments[0], context.get_constant(types.boolean, True))
        return builder.sub(context.get_constant(word, word.bitwidth - 1), zeros)

    return word(word), build


ones: Any = intrinsic(_ones)
lowest: Any = intrinsic(_lowest)
highest: Any = intrinsic(_highest)
"""In kernels: the number of set bits of an integer, and the places of the lowest and the highest; it must not be 0."""


LANE = len(RANKS)
LANE_BITS = (1 << LANE) - 1
HOLES = comb(DECK, 2)
"""Pairs of cards; that of cards `a > b` has the index `a (a - 1) / 2 + b`."""

CHOOSE = np.array([[comb(places, taken) for places in range(DECK + 1)] for taken in range(6)], np.int64)


@compiled
def word_of(card: int) -> int:
    return 1 << ((card & 3) * LANE + (card >> 2))


@compiled
def place_of(word: int) -> int:
    """Return the index of a set of up to five cards among all sets of that size, ordered by their words."""
    place = 0
    for taken in range(1, ones(word) + 1):
        place += int(CHOOSE[taken, lowest(word)])
        word &= word - 1
    return place


@compiled
def after(word: int) -> int:
    """Return the next larger word with the same number of bits (Gosper's hack)."""
    low = word & -word
    carried = word + low
    return carried | ((word ^ carried) >> 2) >> int(lowest(low))


@compiled
def renaming_of(word: int) -> int:
    """Return the renaming that moves larger sets to lower suits: two bits for each suit, clubs in the lowest."""
    clubs, diamonds = word & LANE_BITS, word >> LANE & LANE_BITS
    hearts, spades = word >> 2 * LANE & LANE_BITS, word >> 3 * LANE
    return (
        int(diamonds > clubs) + int(hearts > clubs) + int(spades > clubs)
        | int(clubs >= diamonds) + int(hearts > diamonds) + int(spades > diamonds) << 2
        | int(clubs >= hearts) + int(diamonds >= hearts) + int(spades > hearts) << 4
        | int(clubs >= spades) + int(diamonds >= spades) + int(hearts >= spades) << 6
    )


@compiled
def renamed(word: int, renaming: int) -> int:
    """A set of cards under a renaming of suits."""
    result = 0
    for suit in range(4):
        result |= (word >> suit * LANE & LANE_BITS) << (renaming >> 2 * suit & 3) * LANE
    return result


@compiled
def renamed_card(card: int, renaming: int) -> int:
    return card & ~3 | renaming >> 2 * (card & 3) & 3


@compiled
def hole_of(one: int, other: int) -> int:
    """The index of a pair of cards."""
    high, low = max(one, other), min(one, other)
    return (high * (high - 1) >> 1) + low


@compiled
def class_of(one: int, other: int) -> int:
    """The class of a pair of cards, an index into `CLASSES`: 0 for aces, 168 for deuces."""
    high, low = LANE - 1 - (max(one, other) >> 2), LANE - 1 - (min(one, other) >> 2)
    return high * LANE + low if one & 3 == other & 3 else low * LANE + high


def _hole_cards() -> NDArray[np.int64]:
    return np.array([(high, low) for high in range(DECK) for low in range(high)], np.int64)


HOLE_CARDS = _hole_cards()
"""`(1326, 2)`: the cards of each pair, the larger first."""

HOLE_WORDS = np.array([word_of(high) | word_of(low) for high, low in HOLE_CARDS.tolist()], np.int64)


def renamings() -> tuple[Array, Array]:
    """Return the pairs of cards under every renaming of suits.

    Returns:
        `(24, 1326)` uint16, the pairs, and `(256,)` int8, the row of each renaming of `renaming_of`, or -1.
    """
    orders = np.array(list(permutations(range(len(SUITS)))))
    rows = np.full(256, -1, np.int8)
    rows[(orders << [0, 2, 4, 6]).sum(axis=1)] = np.arange(len(orders))
    cards = HOLE_CARDS[None] // 4 * 4 + orders[:, HOLE_CARDS % 4]
    high, low = cards.max(axis=2), cards.min(axis=2)
    return (high * (high - 1) // 2 + low).astype(np.uint16), rows


assert len(CLASSES) == LANE * LANE


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
