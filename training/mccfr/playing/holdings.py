"""The hands of a game as arrays: buckets of all hands on a board, and deals drawn from ranges."""

from __future__ import annotations

from typing import NamedTuple, Protocol, TypeAlias

import numpy as np

from ....envs.fields import Array
from ....envs.poker.game import Deals, PokerGame

Board: TypeAlias = tuple[int, ...]
"""The board: cards that both players see."""


class Sample(NamedTuple):
    """Some deals.

    Attributes:
        hands: `(deals, 2)` int64, the index of each player's hand.
        bucket: `(deals, streets, 2)` int32.
        sign: `(deals, results)` int8, who wins a showdown, as in `Deals`.
        weight: `(deals,)` float64, the relative probability of each; they sum to 1.
    """

    hands: Array
    bucket: Array
    sign: Array
    weight: Array


class Holdings(Protocol):
    """The hands of a game.

    Attributes:
        names: The name of each hand.
        shown: The number of board cards on each street.
        exact: Whether `deals` returns all possible deals instead of a sample.
    """

    names: tuple[str, ...]
    shown: tuple[int, ...]
    exact: bool

    def buckets(self, player: int, board: Board) -> Array:
        """Return `(hands,)` int32: the bucket of each hand of a player on a board, -1 for one with a board card."""

    def number(self, cards: Board) -> int:
        """Return the index of the hand with these cards or dice."""

    def boards(self, street: int) -> tuple[Board, ...]:
        """Return all boards of a street, if `exact`."""

    def against(self, player: int, hand: int, board: Board) -> Array:
        """Return `(hands,)` bool: the hands that the other player can have."""

    def equities(self, player: int, hand: int, board: Board, random: np.random.Generator) -> Array:
        """Return `(hands,)` float64 from -1 to 1: the equity of a hand against every other at showdown."""

    def draw(self, random: np.random.Generator) -> tuple[int, Board]:
        """Return a hand of a player and the complete board, drawn from a shuffled deck."""

    def deals(self, board: Board, ranges: Array, most: int, random: np.random.Generator) -> Sample:
        """Return deals that fit a board and ranges.

        Args:
            ranges: `(2, hands)` the probability of each player's hands, regardless of the other's cards.
            most: Deals to draw, if not `exact`.
            random: Draws the deals.

        Returns:
            The deals; none if all hands of one range clash with those of the other.
        """


class SmallHoldings:
    """The `Holdings` of a game whose deals are listed."""

    exact = True

    def __init__(self, game: PokerGame) -> None:
        assert game.deals is not None
        self.names = game.hands
        self.shown = tuple(range(game.tree.streets)) if game.boards else (0,)
        self._deals: Deals = game.deals

    def buckets(self, player: int, board: Board) -> Array:
        fits = self._fits(board)
        found = np.full(len(self.names), -1, np.int32)
        found[self._deals.hands[fits, player]] = self._deals.bucket[fits, self.shown.index(len(board)), player]
        return found

    def against(self, player: int, hand: int, board: Board) -> Array:
        fits = self._fits(board) & (self._deals.hands[:, player] == hand)
        found = np.zeros(len(self.names), np.bool_)
        found[self._deals.hands[fits, 1 - player]] = True
        return found

    def equities(self, player: int, hand: int, board: Board, random: np.random.Generator) -> Array:
        """Return `(hands,)` float64 from -1 to 1: the mean over all remaining boards, 0 for impossible hands."""
        del random
        fits = self._fits(board) & (self._deals.hands[:, player] == hand)
        other = self._deals.hands[fits, 1 - player]
        signs = self._deals.sign[fits, 0] * (1 - 2 * player)
        count = np.bincount(other, minlength=len(self.names))
        return np.bincount(other, signs, len(self.names)) / np.maximum(count, 1)

    def draw(self, random: np.random.Generator) -> tuple[int, Board]:
        """Return a hand of player 0 and the complete board."""
        deal = int(random.integers(len(self._deals.hands)))
        return int(self._deals.hands[deal, 0]), (int(self._deals.board[deal]),) * max(self.shown)

    def deals(self, board: Board, ranges: Array, most: int, random: np.random.Generator) -> Sample:
        del most, random
        hands = self._deals.hands.astype(np.int64)
        weight = ranges[0, hands[:, 0]] * ranges[1, hands[:, 1]] * self._fits(board)
        kept = np.flatnonzero(weight > 0)
        likely = weight[kept] / max(weight.sum(), np.finfo(np.float64).tiny)
        return Sample(hands[kept], self._deals.bucket[kept], self._deals.sign[kept], likely)

    def number(self, cards: Board) -> int:
        """Return the index of a hand, which is its only card or die."""
        return cards[0]

    def boards(self, street: int) -> tuple[Board, ...]:
        return tuple((int(card),) for card in np.unique(self._deals.board)) if self.shown[street] else ((),)

    def _fits(self, board: Board) -> Array:
        return self._deals.board == board[-1] if board else np.ones(len(self._deals.hands), np.bool_)
