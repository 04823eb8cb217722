"""Deals a hand of two players, and says which buckets they hold and who wins."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...native import draw
from ...task import Array
from .boards import RENAMING, RENAMING_BITS
from .compiled import compiled
from .evaluator import strength
from .notation import DECK
from .words import class_of, hole_of, place_of, renamed_card, word_of

PLAYERS = 2
BOARD = 2 * PLAYERS
"""Where the board begins among the nine cards dealt: after the first player's two and the second player's two."""
DEALT = BOARD + 5
STREETS = 4


class Tables(NamedTuple):
    """What tells the bucket of any hand on any board, for kernels.

    Attributes:
        flops: `(22100,)` int32, the table of `boards` of three cards.
        turns: `(270725,)`, of four.
        rivers: `(2598960,)`, of five.
        flop: `(1755, 1326)` uint8 or uint16, the bucket of each pair of cards on each flop, any where they clash.
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
    """Deal nine different cards, every order equally likely.

    Args:
        random: `(1,)` uint64, a generator's state (see `native.draw`), advanced.
        cards: `(9,)` integers, written: two of each player, three of the flop, the turn, the river.
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
def hole_under(one: int, other: int, found: int) -> int:
    """The index of a pair of cards on a board for which the table of boards says `found`."""
    return hole_of(renamed_card(one, found & RENAMING_BITS), renamed_card(other, found & RENAMING_BITS))


@compiled
def look_up(tables: Tables, cards: Array, buckets: Array) -> int:
    """Find the buckets of both players on all streets; 1 if the first one wins at showdown, -1 if the second, else 0.

    Tables are read here and not in functions of their own: handing arrays on is counted in ways that wait for memory.

    Args:
        tables: Of a card abstraction.
        cards: `(9,)` as `deal` wrote them.
        buckets: `(4, 2)` integers by street and player, written; before the flop a class of `notation.CLASSES`.
    """
    flop = word_of(cards[BOARD]) | word_of(cards[BOARD + 1]) | word_of(cards[BOARD + 2])
    turn = flop | word_of(cards[BOARD + 3])
    river = turn | word_of(cards[BOARD + 4])
    on_flop, on_turn = tables.flops[place_of(flop)], tables.turns[place_of(turn)]
    on_river = tables.rivers[place_of(river)]
    for player in range(PLAYERS):
        one, other = cards[2 * player], cards[2 * player + 1]
        buckets[3, player] = tables.river[on_river >> RENAMING, hole_under(one, other, on_river)]
        buckets[2, player] = tables.turn[on_turn >> RENAMING, hole_under(one, other, on_turn)]
        buckets[1, player] = tables.flop[on_flop >> RENAMING, hole_under(one, other, on_flop)]
        buckets[0, player] = class_of(one, other)
    mine = strength(river | word_of(cards[0]) | word_of(cards[1]))
    others = strength(river | word_of(cards[2]) | word_of(cards[3]))
    return int(mine > others) - int(mine < others)
