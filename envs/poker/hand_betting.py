"""How the betting of one hand goes on: along a tree, or by the rules of no-limit, where a bet can have any size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from .holdem import NoLimitBetting
from .tree import DEAL, DECISION, STREET, Action, BettingStatus, Tree


class HandBetting(Protocol):
    """The betting of one hand, as far as it has come."""

    @property
    def status(self) -> BettingStatus:
        """Where the hand is: who decides, or how it ended."""

    @property
    def actions(self) -> Sequence[Action]:
        """What can be done, of the sizes that the game offers."""

    @property
    def raises(self) -> tuple[int, int] | None:
        """The least and the most chips in all of a raise of any size, where there is one."""

    def act(self, action: Action) -> None:
        """Do something, and deal what follows it."""


class TreeHandBetting:
    """The betting of a game in which nothing else than the tree's actions can be done."""

    raises = None

    def __init__(self, tree: Tree) -> None:
        self._tree, self._node = tree, 0

    @property
    def status(self) -> BettingStatus:
        """What the node is."""
        tree, node = self._tree, self._node
        paid = float(tree.paid[node, 0]), float(tree.paid[node, 1])
        return BettingStatus(
            int(tree.kind[node]), int(tree.player[node]), int(tree.street[node]), paid, int(tree.result[node])
        )

    @property
    def actions(self) -> Sequence[Action]:
        """Those of the node."""
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
        """Where the rules see the hand."""
        return self._betting.status(self._state)

    @property
    def actions(self) -> Sequence[Action]:
        """What the abstraction offers, at the chips that are really there."""
        return self._betting.actions(self._state)

    @property
    def raises(self) -> tuple[int, int] | None:
        """What the rules allow."""
        return self._betting.raises(self._state) if self.status.kind == DECISION else None

    def act(self, action: Action) -> None:
        """Pay what an action puts in, or fold."""
        self._state = self._betting.after(self._state, action)
        while self.status.kind == STREET:
            self._state = self._betting.after(self._state, DEAL)


def next_decision(tree: Tree, node: int, place: int) -> int:
    """Return the next node below an action, given by its place, at which somebody decides or the hand ends."""
    below = tree.below(node, place)
    while tree.kind[below] == STREET:
        below = tree.below(below, 0)
    return below
