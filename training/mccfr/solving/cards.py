"""Deals hold'em hands for the sampling kernels, with a card abstraction whose file all workers map into memory."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ....envs.poker.cards.abstraction import CardAbstraction
from ....envs.poker.cards.deal import DEALT, PLAYERS, STREETS, deal_many, look_up_many
from ....envs.poker.game import PokerGame
from ..compiled import compiled
from .public_tree import DealtHands


class CardDealer:
    """Deals two hands and a board for every iteration.

    Args:
        game: Hold'em, with the buckets of the abstraction.
        abstraction: Gives the bucket of a hand.
    """

    block = 256

    def __init__(self, game: PokerGame, abstraction: CardAbstraction) -> None:
        if game.buckets != abstraction.buckets:
            raise ValueError(f"the game has {game.buckets} buckets, the card abstraction {abstraction.buckets}")
        self._tables = abstraction.tables
        self._bases = np.array([game.entry_base.ravel(), game.row_base.ravel()], np.uint64)
        self._sizes = np.array([game.tree.width.ravel(), game.tree.decisions.ravel()], np.uint64)
        shape = (self.block, STREETS * PLAYERS)
        self._hands = DealtHands(
            np.zeros(shape, np.uint64), np.zeros(shape, np.uint64), np.ones((self.block, 2), np.float32)
        )
        self._cards = np.zeros((self.block, DEALT), np.int64)
        self._buckets = np.zeros((self.block, STREETS, PLAYERS), np.int32)
        self._signs = np.zeros(self.block, np.int8)
        self._chosen = np.arange(self.block, dtype=np.uint32)

    def deal(self, seed: int, first: int, count: int) -> tuple[DealtHands, NDArray[np.uint32]]:
        cards, buckets, signs = self._cards[:count], self._buckets[:count], self._signs[:count]
        deal_many(np.uint64(seed), np.uint64(first), cards)
        look_up_many(self._tables, cards, buckets, signs)
        place(self._bases, self._sizes, buckets, self._hands)
        self._hands.signs[:count, 0] = signs
        return self._hands, self._chosen[:count]


@compiled
def place(bases: NDArray[np.uint64], sizes: NDArray[np.uint64], buckets: NDArray[np.int32], hands: DealtHands) -> None:
    """Write the first entry and row of both players' buckets.

    Args:
        bases: `(2, 8)` first entries and rows of each street and player.
        sizes: `(2, 8)` entries and rows of one bucket.
        buckets: `(n, 4, 2)` of the hands.
        hands: Written, one line per deal.
    """
    for hand in range(len(buckets)):
        for seat in range(STREETS * PLAYERS):
            bucket = np.uint64(buckets[hand, seat // PLAYERS, seat % PLAYERS])
            hands.entries[hand, seat] = bases[0, seat] + bucket * sizes[0, seat]
            hands.rows[hand, seat] = bases[1, seat] + bucket * sizes[1, seat]
