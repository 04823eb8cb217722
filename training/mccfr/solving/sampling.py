"""Monte Carlo CFR on tables that several workers may share."""

from __future__ import annotations

from contextlib import nullcontext
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....envs import UnknownName
from ....envs.poker.game import PokerGame
from ....envs.task import MASK_64
from .dealing import Dealer, dealer_of
from .external import sample_external, sample_outcome
from .matching import SPARE, discount
from .public_tree import sampling_tree
from .sharing import copied, exchange_when_free, locked, unshared
from .traversal import TraversalArrays, visits_for

METHODS = {"external": sample_external, "outcome": sample_outcome}
WEIGHTINGS = ("vanilla", "linear", "discounted")
INTERVAL = 10_000
"""Iterations between two discounts, by default."""
SMALL = 1 << 14
"""The most entries of a table of which each worker has a copy. Larger ones cost more to exchange than that saves."""
STRETCH = 32
"""Iterations between two exchanges. With more, a worker uses older updates of the others."""


class IterationStats(NamedTuple):
    """Statistics of some iterations.

    Attributes:
        utility_sum: The sum of player 0's winnings over the iterations, in chips.
        nodes: Decisions visited.
        updates: Updates of rows.
    """

    utility_sum: float
    nodes: int
    updates: int

    def and_then(self, more: IterationStats) -> IterationStats:
        """Return the statistics of these and some more iterations together."""
        return IterationStats(self.utility_sum + more.utility_sum, self.nodes + more.nodes, self.updates + more.updates)


class SamplingSolver:
    """Makes iterations of MCCFR, a deal and a traversal per player each, and updates the tables in place.

    Iteration k draws from stream k of the seed, so it depends only on the present tables. One solver alone computes the
    same tables for any batch size.

    Args:
        table: `(entries, 2)` float32, regrets and sums of the average strategy; may be in shared memory.
        updates: `(rows,)` uint32, how often each row's regrets were updated.
        seed: The run's seed.
        method: `external` or `outcome`.
        weighting: `vanilla` weights all iterations equally, `linear` iteration k by k + 1; `discounted` multiplies the
            tables by factors below 1 periodically.
        dealer: Deals the hands; the dealer of the game if None.
        interval: Iterations between two discounts.
        share: The entries `[first, end)` that this solver discounts; all if None.
        lock: `(1,)` int32, 0 at first, common to all workers that write the tables; None for a single worker.

    Raises:
        UnknownName: There is no such method or weighting.
        ValueError: There is no dealer for this game.
    """

    def __init__(
        self,
        game: PokerGame,
        table: NDArray[np.float32],
        updates: NDArray[np.uint32],
        seed: int,
        *,
        method: str = "external",
        weighting: str = "vanilla",
        dealer: Dealer | None = None,
        interval: int = INTERVAL,
        share: tuple[int, int] | None = None,
        lock: NDArray[np.int32] | None = None,
    ) -> None:
        if method not in METHODS:
            raise UnknownName("method of sampling", method, METHODS)
        if weighting not in WEIGHTINGS:
            raise UnknownName("weighting", weighting, WEIGHTINGS)
        self._sample, self._linear = METHODS[method], weighting == "linear"
        self._plan = sampling_tree(game)
        self._visits = visits_for(self._plan)
        self._dealer = dealer or dealer_of(game)
        self._table = table
        self._flat, self._updates, self._shared = table.reshape(-1), updates, unshared(table, updates)
        if lock is not None and len(table) <= SMALL:
            self._shared, self._flat, self._updates = copied(table, updates, lock, STRETCH)
        self._rests = np.zeros(int(SPARE) + len(table), np.float32)
        self._seed = seed & MASK_64
        self._interval = interval if weighting == "discounted" else 0
        self._share = share or (0, game.entries)
        self._periods: int | None = None

    def run(self, first: int, count: int) -> IterationStats:
        batch, done = IterationStats(0.0, 0, 0), 0
        self._exchange()
        while done < count:
            self.reach(first + done)
            size = min(count - done, self._dealer.block, self._until_discounting(first + done))
            batch, done = batch.and_then(self._block(first + done, size)), done + size
        self._exchange()
        return batch

    def _exchange(self) -> None:
        if self._shared.stretch:
            exchange_when_free(self._shared, self._flat, self._updates)

    def _block(self, first: int, count: int) -> IterationStats:
        hands, chosen = self._dealer.deal(self._seed, first, count)
        work = TraversalArrays(self._plan, hands, self._flat, self._rests, self._updates, self._visits, self._shared)
        return IterationStats(*self._sample(work, chosen, np.uint64(self._seed), np.uint64(first), self._linear))

    def _until_discounting(self, iteration: int) -> int:
        return self._interval - iteration % self._interval if self._interval else self._dealer.block

    def reach(self, iteration: int) -> None:
        """Discount once for every period that ended before an iteration. Those before a resume are already applied."""
        if not self._interval:
            return
        if self._periods is None:
            self._periods = max(0, iteration - 1) // self._interval
        while self._periods < iteration // self._interval:
            self._periods += 1
            with locked(self._shared) if self._shared.stretch else nullcontext():
                discount(self._table, *self._share, self._periods)
