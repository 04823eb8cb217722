"""Resolving: during play, solves the next decisions again for the present board and ranges.

The trained strategy, the *blueprint*, was computed for all hands and boards at once. A resolver takes both players'
ranges at one decision, the board, and the next decisions on this street. It solves these by CFR+ in vector form over
buckets of hands. The values of the leaves are those of the blueprint.

`range_update_mode` says which ranges are assumed. With `bayes`, both players followed the blueprint so far. An opponent
who did not may exploit this more than the blueprint. With `bayes_light`, only the resolving player did. The opponent
may have any hand, and each hand may leave the subgame for its best response to the blueprint (the CFR-D gadget of
Burch, Johanson and Bowling, 2014), so no hand gains more than that. This is checked afterwards: what is solved is not
exact, and near an equilibrium there is nothing to gain that pays for that, so a result that fails is not used. Both
modes are weak where the blueprint is weak below the leaves, since an opponent may play differently there. So the first
of several streets is not resolved, and `policy_blend_alpha` mixes the result with the blueprint.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic import Field

from ....envs.fields import Array
from ....envs.poker.game import PokerGame
from ....envs.poker.tree import DECISION
from ...settings import TrainerSettings
from ..solving.public_tree import tree_nodes
from .estimate import OnProgress, no_progress
from .holdings import Board, Holdings, Sample
from .ranges import ends, probabilities, ranges
from .rollout import expected_below, played_below
from .subgame import Subgame, Subtree, matched, subtree

CHUNK = 256
"""Deals that are evaluated between two checks of the clock."""
DOUBT = 0.001
"""The share of a player's range that is uniform: the resolving player may have hands that the blueprint would not."""
SAFE = 0.2
"""How much a result may lose to best responses of some hands, relative to what it gains against others: this times that
gain's share of what all hands win. Where the blueprint is weak, much is gained, and a result may lose more."""


class ResolverSettings(TrainerSettings):
    """Settings of the resolver."""

    time_budget_ms: float = Field(300, gt=0, description="time for a decision, in milliseconds")
    iterations: int = Field(400, gt=0, description="maximum iterations of CFR+ for a decision")
    deals: int = Field(4096, gt=0, description="maximum deals that are evaluated for a decision")
    max_depth: int = Field(2, gt=0, description="maximum depth of the subgame, in decisions on this street")
    max_raises_per_street: int = Field(4, ge=0, description="maximum bets and raises of a street in the subgame")
    leaf_value_mode: Literal["blueprint_rollout"] = Field(
        "blueprint_rollout", description="values of leaves: both players play the blueprint to the end"
    )
    range_update_mode: Literal["bayes", "bayes_light"] = Field(
        "bayes_light", description="range of the opponent: by the blueprint, or any hand with a safe alternative"
    )
    policy_blend_alpha: float = Field(0.35, ge=0, le=1, description="share of the result; the rest is the blueprint")
    seed: int = Field(0, ge=0, description="seed of the drawn deals")


@dataclass(frozen=True)
class ResolvedDecision:
    """The result of a resolver for a decision.

    Attributes:
        probabilities: `(hands, actions)` the result mixed with the blueprint; 0 for hands with board cards.
        blueprint: `(hands, actions)` probabilities of the blueprint.
        iterations: Iterations made; 0 if nothing was solved.
        deals: Deals evaluated.
    """

    probabilities: Array
    blueprint: Array
    iterations: int = 0
    deals: int = 0


class Resolver:
    """Resolves decisions of a game.

    Args:
        strategy: `(entries,)` probabilities, the blueprint.
        holdings: The game's hands.
        clock: Returns the time in seconds.
    """

    def __init__(
        self,
        game: PokerGame,
        strategy: Array,
        holdings: Holdings,
        settings: ResolverSettings | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.game, self.strategy, self.holdings = game, strategy, holdings
        self.settings = settings or ResolverSettings()
        self._clock = clock
        self._nodes, self._ends = tree_nodes(game), ends(game)

    def resolve(self, node: int, board: Board = ()) -> ResolvedDecision:
        """Return the strategy at a decision for every hand.

        Args:
            node: The decision.
        """
        begun, player = self._clock(), int(self.game.tree.player[node])
        buckets = [self.holdings.buckets(who, board) for who in range(2)]
        blueprint = probabilities(self.game, self.strategy, node, buckets[player])
        opening = self.game.tree.street[node] == 0 and self.game.tree.streets > 1
        if opening or self.settings.policy_blend_alpha == 0:
            return ResolvedDecision(blueprint, blueprint)
        tree = subtree(self.game, node, self.settings.max_depth, self.settings.max_raises_per_street)
        kinds = [np.unique(bucket, return_inverse=True) for bucket in buckets]
        keys = kinds[0][1], kinds[1][1]
        payoff, deals = self._payoff(tree, board, keys, begun)
        acts = [self._acts(tree, at, kinds[self.game.tree.player[at]][0]) for at in range(len(tree.decisions))]
        subgame = Subgame(self.game, tree, payoff, acts if self.settings.range_update_mode == "bayes_light" else None)
        made = 0
        while made < self.settings.iterations and (not made or self._left(begun) > 0):
            subgame.iterate()
            made += 1
        met = np.abs(payoff).sum(axis=(0, 2 - player)) > 0
        found = np.where(met[:, None], subgame.average(), acts[0])
        if self.settings.range_update_mode == "bayes_light" and not self._is_safe(
            subgame, node, board, keys, (acts[0], found)
        ):
            return ResolvedDecision(blueprint, blueprint, made, deals)
        return ResolvedDecision(self._mixed(tree, blueprint, found[keys[player]]), blueprint, made, deals)

    def _is_safe(
        self, subgame: Subgame, node: int, board: Board, keys: tuple[Array, Array], strategies: tuple[Array, Array]
    ) -> bool:
        """Return whether best responses win less from the result than from the blueprint, with nearly every hand.

        Args:
            subgame: What was solved.
            node: Its root.
            keys: Both players' `(hands,)` keys.
            strategies: `(keys, choices)` the blueprint and the result at the root.
        """
        player, alpha = int(self.game.tree.player[node]), self.settings.policy_blend_alpha
        blueprint, found = strategies
        true, assumed = (
            np.bincount(keys[player], weights[player])
            for weights in (ranges(self.game, self.strategy, self.holdings, node, board), self._ranges(node, board))
        )
        reach = np.divide(true, assumed, out=np.zeros_like(true), where=assumed > 0)
        before, after = subgame.best_responses((1 - alpha) * blueprint + alpha * found, reach)
        gained, lost = np.maximum(before - after, 0).sum(), np.maximum(after - before, 0).sum()
        return bool(lost * np.abs(before).sum() <= SAFE * gained**2)

    def strategy_with(self, on_progress: OnProgress = no_progress) -> Array:
        """Return `(entries,)` the strategy of a small game with every decision resolved.

        Args:
            on_progress: Called with the share that is done.
        """
        game, found = self.game, self.strategy.copy()
        nodes = np.flatnonzero(game.tree.kind == DECISION)
        for done, node in enumerate(map(int, nodes)):
            for board in self.holdings.boards(int(game.tree.street[node])):
                resolved = self.resolve(node, board)
                buckets = self.holdings.buckets(int(game.tree.player[node]), board)
                for hand in np.flatnonzero(buckets >= 0):
                    entry = game.entry(node, int(buckets[hand]))
                    found[entry : entry + int(game.tree.degree[node])] = resolved.probabilities[hand]
            on_progress((done + 1) / len(nodes))
        return found

    def _ranges(self, node: int, board: Board) -> Array:
        """Return `(2, hands)` both players' ranges, according to `range_update_mode`."""
        held = ranges(self.game, self.strategy, self.holdings, node, board)
        anything = np.stack([self.holdings.buckets(player, board) >= 0 for player in range(2)]).astype(np.float64)
        anything /= anything.sum(axis=1, keepdims=True)
        doubt = np.full((2, 1), DOUBT)
        if self.settings.range_update_mode == "bayes_light":
            doubt[1 - self.game.tree.player[node]] = 1.0
        return (1 - doubt) * held + doubt * anything

    def _payoff(self, tree: Subtree, board: Board, keys: tuple[Array, Array], begun: float) -> tuple[Array, int]:
        """Return the values of leaves to player 0, `(leaves, keys, keys)`, and the number of deals behind them."""
        random = np.random.default_rng((self.settings.seed, tree.decisions[0], *board))
        held = self._ranges(tree.decisions[0], board)
        shape = len(tree.leaves), int(keys[0].max()) + 1, int(keys[1].max()) + 1
        payoff, done = np.zeros(shape), 0
        while not done or (not self.holdings.exact and done < self.settings.deals and self._left(begun, 0.5) > 0):
            sample = self.holdings.deals(board, held, CHUNK, random)
            cell = keys[0][sample.hands[:, 0]] * shape[2] + keys[1][sample.hands[:, 1]]
            worth = self._leaves(tree, sample, random) * sample.weight[:, None]
            for leaf in range(shape[0]):
                payoff[leaf] += np.bincount(cell, worth[:, leaf], shape[1] * shape[2]).reshape(shape[1:])
            done += len(sample.hands)
        return payoff, done

    def _leaves(self, tree: Subtree, sample: Sample, random: np.random.Generator) -> Array:
        """Return `(deals, leaves)` the winnings of player 0 if both follow the blueprint from the leaves on."""
        leaves = np.array(tree.leaves)
        values = np.zeros((len(sample.hands), len(leaves)))
        if self.holdings.exact:
            expected_below(self._nodes, self.strategy, sample.bucket, sample.sign, leaves, self._ends[leaves], values)
        else:
            state = random.integers(1 << 63, size=1, dtype=np.uint64)
            played_below(self._nodes, self.strategy, sample.bucket, sample.sign, leaves, state, values)
        return values

    def _acts(self, tree: Subtree, decision: int, bucket: Array) -> Array:
        """Return `(keys, choices)` the blueprint's probabilities of the actions that the subtree keeps."""
        kept = [choice.action for choice in tree.choices[decision]]
        return matched(probabilities(self.game, self.strategy, tree.decisions[decision], bucket)[:, kept])

    def _mixed(self, tree: Subtree, blueprint: Array, found: Array) -> Array:
        alpha = self.settings.policy_blend_alpha
        whole = np.zeros_like(blueprint)
        whole[:, [choice.action for choice in tree.choices[0]]] = found
        return np.where(blueprint.sum(axis=1, keepdims=True) > 0, (1 - alpha) * blueprint + alpha * whole, 0.0)

    def _left(self, begun: float, share: float = 1.0) -> float:
        """Return the remaining seconds of a share of the time budget."""
        return begun + share * self.settings.time_budget_ms / 1000 - self._clock()
