"""The betting of one hand: along a tree, or by the rules of no-limit with bets of any size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from .holdem import NoLimitBetting
from .tree import DEAL, DECISION, STREET, Action, BettingStatus, Tree


class HandBetting(Protocol):
    """The betting of one hand."""

    @property
    def status(self) -> BettingStatus:
        """The status of the hand: who decides, or how it ended."""

    @property
    def actions(self) -> Sequence[Action]:
        """The possible actions, with the sizes of the game."""

    @property
    def raises(self) -> tuple[int, int] | None:
        """The smallest and the largest raise in total chips, or None if no raise is possible."""

    def act(self, action: Action) -> None:
        """Take an action and deal the next street."""


class TreeHandBetting:
    """The betting of a game in which all actions are in the tree."""

    raises = None

    def __init__(self, tree: Tree) -> None:
        self._tree, self._node = tree, 0

    @property
    def status(self) -> BettingStatus:
        """The status of the node."""
        tree, node = self._tree, self._node
        paid = float(tree.paid[node, 0]), float(tree.paid[node, 1])
        return BettingStatus(
            int(tree.kind[node]), int(tree.player[node]), int(tree.street[node]), paid, int(tree.result[node])
        )

    @property
    def actions(self) -> Sequence[Action]:
        """The actions of the node."""
        return self._tree.actions_of(self._node)

    def act(self, action: Action) -> None:
        """Go down the tree."""
        self._node = next_decision(self._tree, self._node, self._tree.actions_of(self._node).index(action))


class NoLimitHandBetting:
    """The betting of a hand of no-limit.

    Args:
        betting: Its rules.
    """

    def __init__(self, betting: NoLimitBetting) -> None:
        self._betting, self._state = betting, betting.root()

    @property
    def status(self) -> BettingStatus:
        """The status by the rules."""
        return self._betting.status(self._state)

    @property
    def actions(self) -> Sequence[Action]:
        """The actions of the abstraction, with the actual chips."""
        return self._betting.actions(self._state)

    @property
    def raises(self) -> tuple[int, int] | None:
        """The raises that the rules allow."""
        return self._betting.raises(self._state) if self.status.kind == DECISION else None

    def act(self, action: Action) -> None:
        """Take an action and deal the next street."""
        self._state = self._betting.after(self._state, action)
        while self.status.kind == STREET:
            self._state = self._betting.after(self._state, DEAL)


def next_decision(tree: Tree, node: int, place: int) -> int:
    """Return the next node below an action, given by its place, that is a decision or an end."""
    below = tree.below(node, place)
    while tree.kind[below] == STREET:
        below = tree.below(below, 0)
    return below
