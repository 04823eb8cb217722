"""Deals a hand of two players, and finds their buckets and the winner."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...fields import Array
from ...native import compiled, draw, stream
from .evaluator import strength
from .notation import DECK
from .words import RENAMING, RENAMING_BITS, class_of, hole_of, place_of, renamed_card, word_of

PLAYERS = 2
BOARD = 2 * PLAYERS
"""The index of the board among the nine dealt cards, after the two of each player."""
DEALT = BOARD + 5
STREETS = 4


class BucketTables(NamedTuple):
    """The tables with the bucket of any hand on any board, for kernels.

    Attributes:
        flops: `(22100,)` int32, the table of `boards` of three cards.
        turns: `(270725,)`, of four.
        rivers: `(2598960,)`, of five.
        flop: `(1755, 1326)` uint8 or uint16, the bucket of each pair of cards on each flop; undefined if they clash.
        turn: `(16432, 1326)`, on each turn.
        river: `(134459, 1326)`, on each river.
    """

    flops: Array
    turns: Array
    rivers: Array
    flop: Array
    turn: Array
    river: Array


@compiled
def deal(random: Array, cards: Array) -> None:
    """Deal nine different cards, all orders with the same probability.

    Args:
        random: `(1,)` uint64, a generator's state (see `native.draw`), updated.
        cards: `(9,)` integers, the output: two of each player, three of the flop, the turn, the river.
    """
    dealt = 0
    count = 0
    while count < DEALT:
        bits = draw(random, 0)
        for _ in range(10):
            card = int(bits & np.uint64(63))
            bits >>= np.uint64(6)
            if card < DECK and not dealt >> card & 1:
                dealt |= 1 << card
                cards[count] = card
                count += 1
                if count == DEALT:
                    break


@compiled
def board_under(found: int) -> np.uint64:
    """Return the index of a board from its entry in the table of boards; unsigned, so that indexing needs no check."""
    return np.uint64(found >> RENAMING)


@compiled
def hole_under(one: int, other: int, found: int) -> np.uint64:
    """Return the index of a pair of cards on that board."""
    return np.uint64(hole_of(renamed_card(one, found & RENAMING_BITS), renamed_card(other, found & RENAMING_BITS)))


@compiled
def deal_many(seed: np.uint64, first: np.uint64, cards: Array) -> None:
    """Deal hands from number `first` on into `(n, 9)` integers, each from the random stream of its number."""
    random = np.empty(1, np.uint64)
    for hand in range(len(cards)):
        random[0] = stream(seed, first + np.uint64(hand))
        deal(random, cards[hand])


@compiled
def look_up_many(tables: BucketTables, cards: Array, buckets: Array, signs: Array) -> None:
    """Find the buckets of both players on all streets, and the winner.

    Each step is done for all hands, so that their memory accesses overlap. Arrays are not passed to other functions,
    because reference counting would wait for memory. Each of the two doubles the speed for hundreds of hands.

    Args:
        tables: The tables of a card abstraction.
        cards: `(n, 9)` integers from `deal`.
        buckets: `(n, 4, 2)` int32 by street and player, the output; before the flop a class of `notation.CLASSES`.
        signs: `(n,)` int8, the output: 1 if the first player wins at showdown, -1 if the second does, 0 for a tie.
    """
    for hand in range(len(cards)):
        flop = word_of(cards[hand, BOARD]) | word_of(cards[hand, BOARD + 1]) | word_of(cards[hand, BOARD + 2])
        turn = flop | word_of(cards[hand, BOARD + 3])
        river = turn | word_of(cards[hand, BOARD + 4])
        one = strength(river | word_of(cards[hand, 0]) | word_of(cards[hand, 1]))
        other = strength(river | word_of(cards[hand, 2]) | word_of(cards[hand, 3]))
        signs[hand] = int(one > other) - int(one < other)
        buckets[hand, 1, 0], buckets[hand, 2, 0], buckets[hand, 3, 0] = place_of(flop), place_of(turn), place_of(river)
    for hand in range(len(cards)):
        buckets[hand, 1, 0] = tables.flops[buckets[hand, 1, 0]]
        buckets[hand, 2, 0] = tables.turns[buckets[hand, 2, 0]]
        buckets[hand, 3, 0] = tables.rivers[buckets[hand, 3, 0]]
    for hand in range(len(cards)):
        flop, turn, river = buckets[hand, 1, 0], buckets[hand, 2, 0], buckets[hand, 3, 0]
        for player in range(PLAYERS):
            one, other = cards[hand, 2 * player], cards[hand, 2 * player + 1]
            buckets[hand, 0, player] = class_of(one, other)
            buckets[hand, 1, player] = tables.flop[board_under(flop), hole_under(one, other, flop)]
            buckets[hand, 2, player] = tables.turn[board_under(turn), hole_under(one, other, turn)]
            buckets[hand, 3, player] = tables.river[board_under(river), hole_under(one, other, river)]
