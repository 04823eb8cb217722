"""A game with a betting tree: its buckets, its deals, and the rows of its information sets."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .tree import Tree


@dataclass(frozen=True)
class Deals:
    """All deals of a small game, which are equally likely.

    Attributes:
        hands: `(deals, 2)` uint8, the card of each player.
        board: `(deals,)` uint8, the public card; 0 if there is none.
        bucket: `(deals, streets, 2)` int32, the bucket of each player on each street.
        sign: `(deals, results)` int8, whether player 0 wins (1), loses (-1) or ties (0), by the result of a showdown.
    """

    hands: NDArray[np.uint8]
    board: NDArray[np.uint8]
    bucket: NDArray[np.int32]
    sign: NDArray[np.int8]


@dataclass(frozen=True, eq=False)
class PokerGame:
    """A zero-sum game for two.

    Information sets are *rows* and their actions *entries*, dense and bucket-major: for each street, player and bucket,
    the decisions of the tree in order. So a deal uses one slice per street and player, and no keys are stored.

    Attributes:
        tree: Its betting.
        buckets: Number of buckets per street.
        deals: All deals, if they are few; hold'em deals cards instead.
        hands: Names of the hands of a player.
        boards: Names of the public cards.
    """

    name: str
    tree: Tree
    buckets: tuple[int, ...]
    deals: Deals | None = None
    hands: tuple[str, ...] = ()
    boards: tuple[str, ...] = ()

    @cached_property
    def row_base(self) -> NDArray[np.int64]:
        """`(streets, 2)`: the first row of each street and player."""
        return _starts(self._sizes(self.tree.decisions))

    @cached_property
    def entry_base(self) -> NDArray[np.int64]:
        """`(streets, 2)`: the first entry of each street and player."""
        return _starts(self._sizes(self.tree.width))

    @property
    def rows(self) -> int:
        """Number of information sets."""
        return int(self._sizes(self.tree.decisions).sum())

    @property
    def entries(self) -> int:
        """Number of actions of all information sets together."""
        return int(self._sizes(self.tree.width).sum())

    def row(self, node: int, bucket: int) -> int:
        on, who = self.tree.street[node], self.tree.player[node]
        return int(self.row_base[on, who] + bucket * self.tree.decisions[on, who] + self.tree.order[node])

    def entry(self, node: int, bucket: int) -> int:
        on, who = self.tree.street[node], self.tree.player[node]
        return int(self.entry_base[on, who] + bucket * self.tree.width[on, who] + self.tree.place[node])

    def _sizes(self, per_bucket: NDArray[np.int32]) -> NDArray[np.int64]:
        return per_bucket.astype(np.int64) * np.array(self.buckets, np.int64)[:, None]


def _starts(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    return (np.cumsum(sizes) - sizes.ravel()).reshape(sizes.shape)
