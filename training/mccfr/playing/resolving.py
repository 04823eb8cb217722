"""Thinks again where a hand stands: solves the next decisions anew, for the ranges that the play so far has left.

The strategy that training made, the *blueprint*, was made for all hands and boards at once. A resolver takes what both
players may hold at one decision, the board as it is, and the decisions that follow on this street; it solves these by
CFR+ in vector form, over buckets of hands, with the blueprint's own play as what follows below them.

How far to trust the ranges is `range_update_mode`. `bayes` takes both players to have come here by the blueprint, and
answers that alone: an opponent who did not may gain from it what the blueprint would not have given. `bayes_light`
takes only the player who thinks to have done so. The opponent may hold whatever cards allow, and each of these hands
may leave the subgame for the best that it can get from the blueprint (the CFR-D gadget of Burch, Johanson and Bowling,
2014), so that none is given more. Both are weak where the blueprint's play below the leaves is: an opponent may play
otherwise there. That is why the first of several streets, far from all that counts, is left to the blueprint, and why
`policy_blend_alpha` mixes what was found with the blueprint.
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
from .estimate import OnProgress, no_progress
from .holdings import Board, Holdings, Sample
from .ranges import ends, probabilities, ranges
from .rollout import expected_below, nodes_of, played_below
from .subgame import Subgame, Subtree, matched, subtree

CHUNK = 256
"""Deals that are rolled out between two looks at the clock."""
DOUBT = 0.01
"""The share of a player's range that is taken to be any hand: who thinks may hold what the blueprint would not."""


class ResolverSettings(TrainerSettings):
    """Settings of the resolver."""

    time_budget_ms: float = Field(300, gt=0, description="time for a decision, in milliseconds")
    iterations: int = Field(200, gt=0, description="most iterations of CFR+ for a decision")
    deals: int = Field(4096, gt=0, description="most deals that are rolled out for a decision, where not all can be")
    max_depth: int = Field(2, gt=0, description="decisions, one after the other on this street, that are solved anew")
    max_raises_per_street: int = Field(4, ge=0, description="bets and raises of a street that are thought of")
    leaf_value_mode: Literal["blueprint_rollout"] = Field(
        "blueprint_rollout", description="what follows below: both play the blueprint to the end"
    )
    range_update_mode: Literal["bayes", "bayes_light"] = Field(
        "bayes_light", description="what the opponent may hold: what the blueprint would, or anything, with a way out"
    )
    policy_blend_alpha: float = Field(0.35, ge=0, le=1, description="share of what is found; the rest is the blueprint")
    seed: int = Field(0, ge=0, description="seed of the deals that are drawn")


@dataclass(frozen=True)
class ResolvedDecision:
    """What a resolver found for a decision.

    Attributes:
        probabilities: `(hands, actions)` what to do with each hand, mixed with the blueprint; zeros for hands that
            clash with the board.
        blueprint: `(hands, actions)` what the blueprint does.
        iterations: Iterations made; 0 where the blueprint was left as it is.
        deals: Deals rolled out.
    """

    probabilities: Array
    blueprint: Array
    iterations: int = 0
    deals: int = 0


class Resolver:
    """Thinks again about decisions of a game.

    Args:
        game: The game.
        strategy: `(entries,)` probabilities, the blueprint.
        holdings: The game's hands.
        settings: How to think.
        clock: Tells the time in seconds.
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
        self._nodes, self._ends = nodes_of(game), ends(game)

    def resolve(self, node: int, board: Board = ()) -> ResolvedDecision:
        """Return what to do at a decision, for every hand that its player may hold.

        Args:
            node: The decision.
            board: The cards that both see there.
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
        found = np.where(met[:, None], subgame.average(), acts[0])[keys[player]]
        return ResolvedDecision(self._mixed(tree, blueprint, found), blueprint, made, deals)

    def strategy_with(self, on_progress: OnProgress = no_progress) -> Array:
        """Return `(entries,)` what is done at every decision of a small game if each is thought about.

        Args:
            on_progress: Is told the share that is done.
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
        """Return `(2, hands)` what both players may hold, as far as the blueprint is trusted."""
        held = ranges(self.game, self.strategy, self.holdings, node, board)
        anything = np.stack([self.holdings.buckets(player, board) >= 0 for player in range(2)]).astype(np.float64)
        anything /= anything.sum(axis=1, keepdims=True)
        doubt = np.full((2, 1), DOUBT)
        if self.settings.range_update_mode == "bayes_light":
            doubt[1 - self.game.tree.player[node]] = 1.0
        return (1 - doubt) * held + doubt * anything

    def _payoff(self, tree: Subtree, board: Board, keys: tuple[Array, Array], begun: float) -> tuple[Array, int]:
        """Return what leaves are worth to player 0 for all keys, `(leaves, keys, keys)`, and from how many deals."""
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
        """Return `(deals, leaves)` what player 0 wins where both follow the blueprint from the leaves on."""
        leaves = np.array(tree.leaves)
        values = np.zeros((len(sample.hands), len(leaves)))
        if self.holdings.exact:
            expected_below(self._nodes, self.strategy, sample.bucket, sample.sign, leaves, self._ends[leaves], values)
        else:
            state = random.integers(1 << 63, size=1, dtype=np.uint64)
            played_below(self._nodes, self.strategy, sample.bucket, sample.sign, leaves, state, values)
        return values

    def _acts(self, tree: Subtree, decision: int, bucket: Array) -> Array:
        """Return `(keys, choices)` what the blueprint does of the actions that a decision of the subtree keeps."""
        kept = [choice.action for choice in tree.choices[decision]]
        return matched(probabilities(self.game, self.strategy, tree.decisions[decision], bucket)[:, kept])

    def _mixed(self, tree: Subtree, blueprint: Array, found: Array) -> Array:
        alpha = self.settings.policy_blend_alpha
        whole = np.zeros_like(blueprint)
        whole[:, [choice.action for choice in tree.choices[0]]] = found
        return np.where(blueprint.sum(axis=1, keepdims=True) > 0, (1 - alpha) * blueprint + alpha * whole, 0.0)

    def _left(self, begun: float, share: float = 1.0) -> float:
        """Seconds that are left of a share of the time budget."""
        return begun + share * self.settings.time_budget_ms / 1000 - self._clock()
