"""Deals hold'em hands for the sampling kernels, by a card abstraction that all workers map into their memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...envs.native import compiler, stream
from ...envs.poker.cards import deal as dealing
from ...envs.poker.cards.abstraction import CardAbstraction
from ...envs.poker.cards.deal import DEALT, PLAYERS, STREETS, Tables, deal, look_up
from ...envs.poker.game import Game
from .plan import Hands

compiled = compiler(Path(__file__).parent, Path(dealing.__file__).parent)


class CardDealer:
    """Deals two hands and a board for every iteration.

    Args:
        game: Hold'em, with the buckets of the abstraction.
        abstraction: Tells the bucket of a hand.
    """

    block = 256

    def __init__(self, game: Game, abstraction: CardAbstraction) -> None:
        if game.buckets != abstraction.buckets:
            raise ValueError(f"the game has {game.buckets} buckets, the card abstraction {abstraction.buckets}")
        self._tables = abstraction.tables
        self._bases = np.array([game.entry_base.ravel(), game.row_base.ravel()], np.uint64)
        self._sizes = np.array([game.tree.width.ravel(), game.tree.decisions.ravel()], np.uint64)
        shape = (self.block, STREETS * PLAYERS)
        self._hands = Hands(
            np.zeros(shape, np.uint64), np.zeros(shape, np.uint64), np.ones((self.block, 2), np.float32)
        )
        self._chosen = np.arange(self.block, dtype=np.uint32)

    def deal(self, seed: int, first: int, count: int) -> tuple[Hands, NDArray[np.uint32]]:
        """Deal anew for each iteration."""
        deal_hands(self._tables, self._bases, self._sizes, np.uint64(seed), np.uint64(first), count, self._hands)
        return self._hands, self._chosen[:count]


@compiled
def deal_hands(  # noqa: PLR0917 - kernels
    tables: Tables,
    bases: NDArray[np.uint64],
    sizes: NDArray[np.uint64],
    seed: np.uint64,
    first: np.uint64,
    count: int,
    hands: Hands,
) -> None:
    """Deal for `count` iterations, and write where the tables of both players' buckets begin, and who wins.

    Args:
        tables: Of a card abstraction.
        bases: `(2, 8)` first entries and rows of each street and player.
        sizes: `(2, 8)` entries and rows of one bucket.
        seed: The run's.
        first: The number of the first iteration; iteration k draws from stream k.
        count: How many.
        hands: Written, a line per iteration.
    """
    random, cards, buckets = np.zeros(1, np.uint64), np.zeros(DEALT, np.int64), np.zeros((STREETS, PLAYERS), np.int64)
    for index in range(count):
        random[0] = stream(seed, first + np.uint64(index))
        deal(random, cards)
        hands.signs[index, 0] = look_up(tables, cards, buckets)
        for seat in range(STREETS * PLAYERS):
            bucket = np.uint64(buckets[seat // PLAYERS, seat % PLAYERS])
            hands.entries[index, seat] = bases[0, seat] + bucket * sizes[0, seat]
            hands.rows[index, seat] = bases[1, seat] + bucket * sizes[1, seat]
