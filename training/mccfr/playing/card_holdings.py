"""The hands of hold'em as arrays over all 1,326 pairs of cards."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ....envs.fields import Array
from ....envs.native import below, compiler
from ....envs.poker.cards import deal as dealing
from ....envs.poker.cards.deal import BOARD, DEALT, PLAYERS, STREETS, BucketTables, hole_under, look_up_many
from ....envs.poker.cards.evaluator import strength
from ....envs.poker.cards.notation import DECK, card_text
from ....envs.poker.cards.words import HOLE_CARDS, HOLE_WORDS, HOLES, RENAMING, class_of, hole_of, place_of, word_of
from .holdings import Board, Sample

compiled = compiler(Path(__file__).parent, Path(dealing.__file__).parent)

SHOWN: tuple[int, ...] = (0, 3, 4, 5)
RIVER = SHOWN[-1]
RUNOUTS = 64
"""Boards that are sampled for the equity of a hand before the turn; from the turn on there are at most 46."""
TRIES = 100


class CardHoldings:
    """The hands of hold'em; see `Holdings`.

    Args:
        tables: Of a card abstraction.
    """

    exact = False
    shown = SHOWN
    names = tuple(card_text(high) + card_text(low) for high, low in HOLE_CARDS.tolist())

    def __init__(self, tables: BucketTables) -> None:
        self._tables = tables

    def buckets(self, player: int, board: Board) -> Array:
        del player
        found = np.empty(HOLES, np.int32)
        look_up_all(self._tables, np.array(board, np.int64), found)
        return found

    def number(self, cards: Board) -> int:
        """Return the index of a pair of cards."""
        return int(hole_of(*cards))

    def boards(self, street: int) -> tuple[Board, ...]:
        """Return the board before the flop; other streets have too many.

        Raises:
            ValueError: It is another street.
        """
        if street:
            raise ValueError("hold'em has too many boards to list them")
        return ((),)

    def against(self, player: int, hand: int, board: Board) -> Array:
        del player
        known = int(HOLE_WORDS[hand]) | _word(board)
        free: Array = (HOLE_WORDS & known) == 0
        return free

    def equities(self, player: int, hand: int, board: Board, random: np.random.Generator) -> Array:
        """Return `(1326,)` float64 from -1 to 1: the mean over all remaining boards, or over `RUNOUTS` of them."""
        del player
        won, met = np.zeros(HOLES), np.zeros(HOLES)
        known = int(HOLE_WORDS[hand]) | _word(board)
        left = np.array([card for card in range(DECK) if not known & word_of(card)])
        if len(board) == RIVER:
            runouts = np.zeros((1, 0), np.int64)
        elif len(board) == RIVER - 1:
            runouts = left[:, None]
        else:
            runouts = np.stack([random.choice(left, RIVER - len(board), replace=False) for _ in range(RUNOUTS)])
        compare(int(HOLE_WORDS[hand]), _word(board), runouts, won, met)
        return won / np.maximum(met, 1)

    def draw(self, random: np.random.Generator) -> tuple[int, Board]:
        """Return a player's hand and all five board cards."""
        one, other, *board = random.permutation(DECK)[: 2 + RIVER].tolist()
        return int(hole_of(one, other)), tuple(board)

    def deals(self, board: Board, ranges: Array, most: int, random: np.random.Generator) -> Sample:
        """Return about `most` deals that fit a board and ranges, with equal weights; at least one.

        Raises:
            ValueError: All hands of one range clash with those of the other.
        """
        hands = np.zeros((0, PLAYERS), np.int64)
        for _ in range(TRIES):
            drawn = np.stack([random.choice(HOLES, most, p=held / held.sum()) for held in ranges], axis=1)
            hands = drawn[(HOLE_WORDS[drawn[:, 0]] & HOLE_WORDS[drawn[:, 1]]) == 0]
            if len(hands):
                break
        else:
            raise ValueError(f"all hands of the two ranges clash on {board}")
        bucket = np.zeros((len(hands), STREETS, PLAYERS), np.int32)
        sign = np.zeros((len(hands), 1), np.int8)
        state = random.integers(1 << 62, size=1)
        deal_onto(self._tables, hands, np.array(board, np.int64), state, bucket, sign)
        return Sample(hands, bucket, sign, np.full(len(hands), 1 / len(hands)))


def _word(cards: Board) -> int:
    return sum(int(word_of(card)) for card in cards)


@compiled
def look_up_all(tables: BucketTables, board: Array, found: Array) -> None:
    """Write the bucket of every pair of cards on a board.

    Args:
        tables: Of a card abstraction.
        board: `(n,)` int64, no, three, four or five cards.
        found: `(1326,)` int32, written; -1 for pairs with a card of the board.
    """
    word = 0
    for card in board:
        word |= word_of(card)
    boards, buckets = tables.flops, tables.flop
    if len(board) == 4:
        boards, buckets = tables.turns, tables.turn
    elif len(board) == 5:
        boards, buckets = tables.rivers, tables.river
    here = boards[place_of(word)] if len(board) else 0
    for hole in range(len(found)):
        one, other = HOLE_CARDS[hole, 0], HOLE_CARDS[hole, 1]
        if word & HOLE_WORDS[hole]:
            found[hole] = -1
        elif len(board):
            found[hole] = buckets[here >> RENAMING, hole_under(one, other, here)]
        else:
            found[hole] = class_of(one, other)


@compiled
def compare(hand: int, board: int, runouts: Array, won: Array, met: Array) -> None:
    """Compare a hand with all others on some boards.

    Args:
        hand: Its cards, as a word.
        board: The board so far, as a word.
        runouts: `(boards, cards)` int64, the remaining cards.
        won: `(1326,)` float64, added to: 1 for a showdown won, -1 for one lost.
        met: `(1326,)` float64, added to: showdowns.
    """
    for line in range(len(runouts)):
        river = board
        for card in runouts[line]:
            river |= word_of(card)
        mine = strength(river | hand)
        for hole in range(len(won)):
            other = HOLE_WORDS[hole]
            if not other & (river | hand):
                theirs = strength(river | other)
                won[hole] += int(mine > theirs) - int(mine < theirs)
                met[hole] += 1


@compiled
def deal_onto(tables: BucketTables, hands: Array, board: Array, random: Array, buckets: Array, signs: Array) -> None:
    """Deal the rest of the board for pairs of hands; write their buckets and the winners.

    Args:
        tables: Of a card abstraction.
        hands: `(deals, 2)` pairs of cards.
        board: `(n,)` int64, the board so far.
        random: `(1,)` int64, a generator's state, advanced.
        buckets: `(deals, 4, 2)` int32, written.
        signs: `(deals, 1)` int8, written.
    """
    cards = np.zeros((len(hands), DEALT), np.int64)
    for deal in range(len(hands)):
        dealt = 0
        for player in range(PLAYERS):
            for card in range(2):
                cards[deal, 2 * player + card] = HOLE_CARDS[hands[deal, player], card]
        cards[deal, BOARD : BOARD + len(board)] = board
        for at in range(BOARD + len(board)):
            dealt |= 1 << cards[deal, at]
        at = BOARD + len(board)
        while at < DEALT:
            card = below(random, 0, DECK)
            if not dealt >> card & 1:
                dealt |= 1 << card
                cards[deal, at] = card
                at += 1
    look_up_many(tables, cards, buckets, signs[:, 0])
