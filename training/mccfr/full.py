"""CFR on the whole tree, in vector form: the exact reference for games whose deals can be listed.

Both players in turn, as Zinkevich et al. (2007) and, for CFR+, Tammelin (2014) have it; discounted CFR is Brown and
Sandholm's (2019). The sequence of NashConv is OpenSpiel's.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...envs import UnknownName
from ...envs.poker.game import Game
from ...envs.poker.tree import DECISION
from .compiled import compiled
from .exact import Strategy, normalised
from .public import PLAYERS, Public, public_of
from .sweeps import evaluate, spread


class Variant(NamedTuple):
    """What is done with sums as iterations go on.

    Attributes:
        floor: Let no regret fall below 0.
        linear: Weigh the average by the iteration.
        discounted: Let old iterations count less, by what follows.
        alpha: Regrets above 0 keep t^alpha / (t^alpha + 1) after iteration t.
        beta: The same for regrets below 0.
        gamma: The average keeps (t / (t + 1))^gamma.
    """

    floor: bool = False
    linear: bool = False
    discounted: bool = False
    alpha: float = 0.0
    beta: float = 0.0
    gamma: float = 0.0


VARIANTS = {
    "cfr": Variant(),
    "cfr+": Variant(floor=True, linear=True),
    "dcfr": Variant(discounted=True, alpha=1.5, beta=0.0, gamma=2.0),
    "lcfr": Variant(discounted=True, alpha=1.0, beta=1.0, gamma=1.0),
}


class Cfr:
    """Counterfactual regret minimisation on a small game.

    Args:
        game: A game whose deals are listed.
        variant: `cfr`, `cfr+`, `dcfr` or `lcfr`.

    Attributes:
        regrets: `(entries,)`.
        sums: `(entries,)` of the average strategy.
        iterations: How many were made; both players learn in each.

    Raises:
        TooManyDeals: The game is too large.
        UnknownName: There is no such variant.
    """

    def __init__(self, game: Game, variant: str = "cfr") -> None:
        if variant not in VARIANTS:
            raise UnknownName("variant of CFR", variant, VARIANTS)
        self._game, self._public, self._variant = game, public_of(game), VARIANTS[variant]
        self._strategy = normalised(game, np.zeros(game.entries))
        shape = (len(self._public.kind), int(self._public.buckets.max()))
        self._reach, self._values = np.zeros((PLAYERS, *shape)), np.zeros(shape)
        self.regrets, self.sums = np.zeros(game.entries), np.zeros(game.entries)
        self.iterations = 0

    def go_on(self, regrets: Strategy, sums: Strategy, iterations: int) -> None:
        """Continue from what `regrets` and `sums` were after so many iterations."""
        self.regrets[:], self.sums[:], self.iterations = regrets, sums, iterations
        self._strategy[:] = normalised(self._game, regrets)

    def iterate(self, count: int = 1) -> None:
        """Make some iterations."""
        arrays = (self._strategy, self.regrets, self.sums, self._reach, self._values)
        improve(self._public, self._variant, *arrays, self.iterations + 1, count)
        self.iterations += count

    def average(self) -> Strategy:
        """Return the average strategy, which is what converges."""
        return normalised(self._game, self.sums)


@compiled
def improve(  # noqa: PLR0917 - kernels
    p: Public,
    variant: Variant,
    strategy: Strategy,
    regrets: Strategy,
    sums: Strategy,
    reach: NDArray[np.float64],
    value: NDArray[np.float64],
    first: int,
    count: int,
) -> None:
    """Make `count` iterations from number `first` on, the first of all being 1."""
    for iteration in range(first, first + count):
        for player in range(PLAYERS):
            spread(p, strategy, 0, reach[0])
            spread(p, strategy, 1, reach[1])
            evaluate(p, strategy, player, reach[1 - player], value, False)
            weight = iteration if variant.linear else 1
            keep_above = keep_below = keep_sums = 1.0
            if variant.discounted:
                keep_above = 1 - 1 / (iteration**variant.alpha + 1)
                keep_below = 1 - 1 / (iteration**variant.beta + 1)
                keep_sums = (iteration / (iteration + 1)) ** variant.gamma
            for node in range(len(p.kind)):
                if p.kind[node] != DECISION or p.player[node] != player:
                    continue
                for hand in range(p.buckets[p.street[node]]):
                    at = p.entry[node] + hand * p.stride[node]
                    total = 0.0
                    for action in range(p.degree[node]):
                        gain = value[p.child[p.first[node] + action], hand] - value[node, hand]
                        regret = regrets[at + action] + gain
                        if variant.floor:
                            regret = max(regret, 0.0)
                        regret *= keep_above if regret >= 0 else keep_below
                        regrets[at + action] = regret
                        total += max(regret, 0.0)
                        added = weight * reach[player, node, hand] * strategy[at + action]
                        sums[at + action] = (sums[at + action] + added) * keep_sums
                    for action in range(p.degree[node]):
                        share = max(regrets[at + action], 0.0) / total if total > 0 else 1 / p.degree[node]
                        strategy[at + action] = share
