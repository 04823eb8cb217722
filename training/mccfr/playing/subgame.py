"""Some decisions of a game for one board and given ranges, solved by CFR+ in vector form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ....envs.fields import Array
from ....envs.poker.game import PokerGame
from ....envs.poker.tree import DECISION
from .ranges import history, parents, raises

FORCED = 0.05
"""The share of the opponent's hands that always stays: if all left, the strategy against them would be undefined."""


class Choice(NamedTuple):
    """An action that a subtree keeps.

    Attributes:
        action: Its index among the decision's actions.
        decision: The decision of the subtree that it leads to, or -1.
        leaf: The leaf that it leads to, or -1.
    """

    action: int
    decision: int
    leaf: int


@dataclass(frozen=True)
class Subtree:
    """A decision of a tree and some of the decisions below it.

    Attributes:
        decisions: Their nodes, the root first.
        choices: The actions that each of them keeps.
        leaves: Nodes at which the subtree ends.
    """

    decisions: tuple[int, ...]
    choices: tuple[tuple[Choice, ...], ...]
    leaves: tuple[int, ...]


def subtree(game: PokerGame, root: int, depth: int, most_raises: int) -> Subtree:
    """Return the decisions from `root` on, to the end of its street.

    Args:
        root: A decision.
        depth: Maximum number of consecutive decisions.
        most_raises: Maximum bets and raises of the street, including those before the root.
    """
    tree = game.tree
    before = sum(
        raises(game, node, action)
        for node, action in history(game, parents(game), root)
        if tree.street[node] == tree.street[root]
    )
    decisions, leaves = [root], list[int]()
    choices: list[tuple[Choice, ...]] = []
    waiting = [(depth - 1, before)]
    while len(choices) < len(decisions):
        node = decisions[len(choices)]
        left, raised = waiting[len(choices)]
        kept = []
        for action in range(int(tree.degree[node])):
            more = raises(game, node, action)
            if more and raised >= most_raises:
                continue
            child = tree.below(node, action)
            if left and tree.kind[child] == DECISION:
                kept.append(Choice(action, len(decisions), -1))
                decisions.append(child)
                waiting.append((left - 1, raised + more))
            else:
                kept.append(Choice(action, -1, len(leaves)))
                leaves.append(child)
        choices.append(tuple(kept))
    return Subtree(tuple(decisions), tuple(choices), tuple(leaves))


class Subgame:
    """A subtree with values of its leaves, solved by CFR+ with alternating updates and linear averaging.

    With a `blueprint`, the hands of the root's opponent may leave for their best responses to it, as in the CFR-D
    gadget of Burch, Johanson and Bowling (2014). So none of them gains more from the result, except for `FORCED`.

    Args:
        tree: Its decisions here.
        payoff: `(leaves, keys of player 0, keys of player 1)` chips for player 0, times the probability of both hands.
        blueprint: For each decision `(keys, choices)` probabilities; None if no hand may leave.
    """

    def __init__(self, game: PokerGame, tree: Subtree, payoff: Array, blueprint: list[Array] | None) -> None:
        self._tree, self._payoff, self._blueprint = tree, payoff, blueprint
        self._players = [int(game.tree.player[node]) for node in tree.decisions]
        shapes = [(payoff.shape[1 + who], len(kept)) for who, kept in zip(self._players, tree.choices, strict=True)]
        self._regret = [np.zeros(shape) for shape in shapes]
        self._sum = [np.zeros(shape) for shape in shapes]
        self._opponent = 1 - self._players[0]
        self._outside: Array | None = None
        self._gate = np.zeros((payoff.shape[1 + self._opponent], 2))
        self._made = 0
        if blueprint is not None:
            self._outside = self._values(self._opponent, 0, self._ones(self._players[0]), blueprint, best=True)

    def iterate(self) -> None:
        """Update both players once."""
        self._made += 1
        for player in range(2):
            strategy = [matched(regret) for regret in self._regret]
            reach = self._ones(1 - player)
            if self._outside is not None and player != self._opponent:
                reach = FORCED + (1 - FORCED) * matched(self._gate)[:, 0]
            values = self._values(player, 0, reach, strategy, update=True)
            self._average(player, strategy)
            if self._outside is not None and player == self._opponent:
                both = np.stack([values, self._outside], axis=1)
                value = (matched(self._gate) * both).sum(axis=1, keepdims=True)
                self._gate = np.maximum(self._gate + both - value, 0)

    def average(self, decision: int = 0) -> Array:
        """Return `(keys, choices)`: the average strategy of a decision."""
        return matched(self._sum[decision])

    def best_responses(self, root: Array, reach: Array) -> tuple[Array, Array]:
        """Return what each of the opponent's hands wins by best responses, `(keys,)`: to the blueprint, and to `root`.

        Args:
            root: `(keys, choices)`, a strategy at the root; below it, the player follows the blueprint.
            reach: `(keys,)` factors of the probabilities of the player's hands.
        """
        assert self._blueprint is not None
        before, after = (
            self._values(self._opponent, 0, reach, strategy, best=True)
            for strategy in (self._blueprint, [root, *self._blueprint[1:]])
        )
        return before, after

    def _values(
        self,
        player: int,
        decision: int,
        reach: Array,
        strategy: list[Array],
        *,
        update: bool = False,
        best: bool = False,
    ) -> Array:
        """Return `(keys,)` the value of a decision to a player's hands.

        Args:
            reach: `(keys,)` the probability with which the opponent's hands reach it.
            strategy: Both players' strategy, by decision.
            update: Whether to update the player's regrets.
            best: Whether the player takes the best actions instead.
        """
        acts = strategy[decision]
        mine = self._players[decision] == player
        below = []
        for at, choice in enumerate(self._tree.choices[decision]):
            coming = reach if mine else reach * acts[:, at]
            if choice.leaf < 0:
                below.append(self._values(player, choice.decision, coming, strategy, update=update, best=best))
            else:
                payoff = self._payoff[choice.leaf]
                below.append(payoff @ coming if player == 0 else -(coming @ payoff))
        each = np.stack(below, axis=1)
        if not mine:
            summed: Array = each.sum(axis=1)
            return summed
        value: Array = each.max(axis=1) if best else (acts * each).sum(axis=1)
        if update:
            self._regret[decision] = np.maximum(self._regret[decision] + each - value[:, None], 0)
        return value

    def _average(self, player: int, strategy: list[Array]) -> None:
        """Add a player's strategy to its sums, weighted by how the player reaches each decision and by iteration."""
        reach = {0: self._ones(player)}
        for decision, choices in enumerate(self._tree.choices):
            mine = self._players[decision] == player
            for at, choice in enumerate(choices):
                if choice.leaf < 0:
                    reach[choice.decision] = reach[decision] * (strategy[decision][:, at] if mine else 1.0)
            if mine:
                self._sum[decision] += self._made * reach[decision][:, None] * strategy[decision]

    def _ones(self, player: int) -> Array:
        return np.ones(self._payoff.shape[1 + player])


def matched(regret: Array) -> Array:
    """Return the strategy in proportion to regrets, none of which is negative; uniform where all are 0."""
    total = regret.sum(axis=1, keepdims=True)
    found: Array = np.where(total > 0, regret / np.where(total > 0, total, 1.0), 1 / regret.shape[1])
    return found
