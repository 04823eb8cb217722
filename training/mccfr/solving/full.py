"""CFR on the whole tree, in vector form: the exact reference for games whose deals can be listed.

Players are updated in turn, as by Zinkevich et al. (2007), for CFR+ by Tammelin (2014), and for discounted CFR by Brown
and Sandholm (2019). NashConv after each iteration equals OpenSpiel's.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....envs import UnknownName
from ....envs.poker.game import PokerGame
from ....envs.poker.tree import DECISION
from ..compiled import compiled, inlined
from .exact import Strategy, evaluate, normalised, spread
from .public_tree import PLAYERS, PublicTree, public_tree


class Variant(NamedTuple):
    """How a variant of CFR weights iterations and discounts sums.

    Attributes:
        floor: Set negative regrets to 0.
        linear: Weight iteration t by t in the average.
        discounted: Discount earlier iterations as follows.
        alpha: Positive regrets are multiplied by t^alpha / (t^alpha + 1) after iteration t.
        beta: The same for negative regrets.
        gamma: The sums of the average strategy are multiplied by (t / (t + 1))^gamma.
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
    """Counterfactual regret minimization on a small game.

    Args:
        game: A game whose deals are listed.
        variant: `cfr`, `cfr+`, `dcfr` or `lcfr`.

    Attributes:
        regrets: `(entries,)`.
        sums: `(entries,)` of the average strategy.
        iterations: How many were made; each updates both players.

    Raises:
        TooManyDeals: The game is too large.
        UnknownName: There is no such variant.
    """

    def __init__(self, game: PokerGame, variant: str = "cfr") -> None:
        if variant not in VARIANTS:
            raise UnknownName("variant of CFR", variant, VARIANTS)
        self._game, self._public, self._variant = game, public_tree(game), VARIANTS[variant]
        self._strategy = normalised(game, np.zeros(game.entries))
        shape = (len(self._public.nodes.kind), int(self._public.buckets.max()))
        self._passes = TreePasses(np.zeros((PLAYERS, *shape)), np.zeros(shape))
        self.regrets, self.sums = np.zeros(game.entries), np.zeros(game.entries)
        self.iterations = 0

    def load(self, regrets: Strategy, sums: Strategy, iterations: int) -> None:
        self.regrets[:], self.sums[:], self.iterations = regrets, sums, iterations
        self._strategy[:] = normalised(self._game, regrets)

    def iterate(self, count: int = 1) -> None:
        learned = StrategySums(self._strategy, self.regrets, self.sums)
        improve(self._public, self._variant, learned, self._passes, self.iterations + 1, count)
        self.iterations += count

    def average(self) -> Strategy:
        """Return the average strategy, which converges to an equilibrium."""
        return normalised(self._game, self.sums)


class StrategySums(NamedTuple):
    """The learned arrays, `(entries,)` each: the present strategy, regrets, sums of the average strategy."""

    strategy: Strategy
    regrets: Strategy
    sums: Strategy


class TreePasses(NamedTuple):
    """Results of the last passes over a tree of n nodes and b hands.

    Attributes:
        reach: `(2, n, b)`, the probability with which each player's hands reach every node.
        value: `(n, b)`, the value of every node to the player who is updated.
    """

    reach: NDArray[np.float64]
    value: NDArray[np.float64]


class IterationWeights(NamedTuple):
    """The weight of an iteration, and the factors of positive regrets, negative regrets and sums."""

    weight: float
    above: float
    below: float
    sums: float


@inlined
def weights_at(variant: Variant, iteration: int) -> IterationWeights:
    """The weights of an iteration; the first one is number 1."""
    weight = float(iteration) if variant.linear else 1.0
    if not variant.discounted:
        return IterationWeights(weight, 1.0, 1.0, 1.0)
    above, below = iteration**variant.alpha, iteration**variant.beta
    return IterationWeights(
        weight, above / (above + 1), below / (below + 1), (iteration / (iteration + 1)) ** variant.gamma
    )


@inlined
def learn(
    p: PublicTree, floor: bool, step: IterationWeights, learned: StrategySums, passes: TreePasses, node: int, hand: int
) -> None:
    """Update a hand's regrets, average and strategy at a decision of the player who is updated."""
    tree = p.nodes
    at, first, degree = tree.entry[node] + hand * tree.stride[node], tree.first[node], tree.degree[node]
    reach, total = passes.reach[tree.player[node], node, hand], 0.0
    for action in range(degree):
        regret = (
            learned.regrets[at + action] + passes.value[tree.child[first + action], hand] - passes.value[node, hand]
        )
        if floor:
            regret = max(regret, 0.0)
        regret *= step.above if regret >= 0 else step.below
        learned.regrets[at + action] = regret
        total += max(regret, 0.0)
        added = step.weight * reach * learned.strategy[at + action]
        learned.sums[at + action] = (learned.sums[at + action] + added) * step.sums
    for action in range(degree):
        positive = max(learned.regrets[at + action], 0.0)
        learned.strategy[at + action] = positive / total if total > 0 else 1 / degree


@compiled
def improve(p: PublicTree, variant: Variant, learned: StrategySums, passes: TreePasses, first: int, count: int) -> None:
    """Make `count` iterations from number `first` on, updating each player against the other's newest strategy."""
    tree = p.nodes
    for iteration in range(first, first + count):
        step = weights_at(variant, iteration)
        for player in range(PLAYERS):
            for who in range(PLAYERS):
                spread(p, learned.strategy, who, passes.reach[who])
            evaluate(p, learned.strategy, player, passes.reach[1 - player], passes.value, False)
            for node in range(len(tree.kind)):
                if tree.kind[node] == DECISION and tree.player[node] == player:
                    for hand in range(p.buckets[tree.street[node]]):
                        learn(p, variant.floor, step, learned, passes, node, hand)
