"""The betting of a game, compiled ahead into arrays: what both players see, whatever cards they hold.

A node is a history of public actions. Cards stand beside it: what a player knows besides the history is a *bucket*, and
a node together with a bucket is an information set.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..fields import Array

DECISION, STREET, FOLD, SHOWDOWN = range(4)
"""Kinds of nodes: somebody decides, cards are dealt, somebody gave up, hands are compared."""

State = TypeVar("State")


class Action(NamedTuple):
    """Something that can be done at a decision.

    Attributes:
        name: How it is called, such as `call` or `raise 6`, to six chips on this street.
        chips: What its player has put in, in all, once it is done.
        number: Its number among all the actions that the game has.
    """

    name: str
    chips: float
    number: int = 0


DEAL = Action("deal", 0)
"""What happens at a `STREET`."""


class BettingStatus(NamedTuple):
    """What a node is.

    Attributes:
        kind: `DECISION`, `STREET`, `FOLD` or `SHOWDOWN`.
        player: Who decides, or who gave up; 0 elsewhere.
        street: How many times public cards were dealt by then.
        paid: Chips that both have put in.
        result: Of a showdown, which of the game's results counts.
    """

    kind: int
    player: int
    street: int
    paid: tuple[float, float]
    result: int = 0


class Betting(Protocol[State]):
    """Rules of a game's betting, as pure functions of states of its own."""

    def root(self) -> State:
        """Return the state in which the first decision is made."""

    def status(self, state: State) -> BettingStatus:
        """Return what the node of `state` is."""

    def actions(self, state: State) -> Sequence[Action]:
        """Return what can be done at a decision."""

    def after(self, state: State, action: Action) -> State:
        """Return the state after one of its `actions`; of a `STREET`, after the deal, whatever is given."""


@dataclass(frozen=True)
class Tree:
    """A betting tree of n nodes and e edges; a node comes before those below it, so node 0 is the root.

    Attributes:
        kind: `(n,)` uint8.
        player: `(n,)` uint8, who decides or who gave up.
        street: `(n,)` uint8.
        paid: `(n, 2)` float32 chips that both have put in.
        result: `(n,)` int16, which result of a showdown counts.
        first: `(n,)` int32, the first edge of a node; its edges lie in a row.
        degree: `(n,)` uint8, how many edges it has: the actions of a decision, one of a `STREET`.
        child: `(e,)` int32, the node below an edge.
        actions: One per edge; `deal` below a `STREET`.
        order: `(n,)` int32, a decision's number among those of its street and player.
        place: `(n,)` int32, how many actions the decisions of its street and player before it have in all.
        decisions: `(streets, 2)` int32, decisions of each street and player.
        width: `(streets, 2)` int32, actions of all those decisions together.
    """

    kind: NDArray[np.uint8]
    player: NDArray[np.uint8]
    street: NDArray[np.uint8]
    paid: NDArray[np.float32]
    result: NDArray[np.int16]
    first: NDArray[np.int32]
    degree: NDArray[np.uint8]
    child: NDArray[np.int32]
    actions: tuple[Action, ...]
    order: NDArray[np.int32]
    place: NDArray[np.int32]
    decisions: NDArray[np.int32]
    width: NDArray[np.int32]

    @property
    def streets(self) -> int:
        """Number of streets."""
        return len(self.width)

    def actions_of(self, node: int) -> tuple[Action, ...]:
        """Return what can be done at a decision."""
        return self.actions[self.first[node] : self.first[node] + self.degree[node]]

    def below(self, node: int, action: int) -> int:
        """Return the node that an action leads to."""
        return int(self.child[self.first[node] + action])


def compile_tree(betting: Betting[State]) -> Tree:
    """Return the tree of all histories that `betting` allows, in the order of a depth-first walk."""
    nodes: list[BettingStatus] = []
    edges: list[tuple[Action, ...]] = []
    parents: list[tuple[int, int]] = []
    waiting: list[tuple[State, tuple[int, int]]] = [(betting.root(), (-1, 0))]
    while waiting:
        state, parent = waiting.pop()
        here = betting.status(state)
        nodes.append(here)
        parents.append(parent)
        choices: tuple[Action, ...] = ()
        if here.kind == DECISION:
            choices = tuple(betting.actions(state))
        elif here.kind == STREET:
            choices = (DEAL,)
        edges.append(choices)
        number = len(nodes) - 1
        below = [(betting.after(state, action), (number, place)) for place, action in enumerate(choices)]
        waiting += reversed(below)
    return _packed(nodes, edges, parents)


def _packed(nodes: list[BettingStatus], edges: list[tuple[Action, ...]], parents: list[tuple[int, int]]) -> Tree:
    degree = np.array([len(choices) for choices in edges], np.uint8)
    first = (np.cumsum(degree, dtype=np.int64) - degree).astype(np.int32)
    child = np.zeros(int(degree.sum()), np.int32)
    for node, (parent, action) in enumerate(parents):
        if parent >= 0:
            child[first[parent] + action] = node
    kind, player, street = (
        np.array([getattr(here, name) for here in nodes], np.uint8) for name in ("kind", "player", "street")
    )
    order, place, decisions, width = _numbered(kind, player, street, degree)
    return Tree(
        kind=kind,
        player=player,
        street=street,
        paid=np.array([here.paid for here in nodes], np.float32),
        result=np.array([here.result for here in nodes], np.int16),
        first=first,
        degree=degree,
        child=child,
        actions=tuple(action for choices in edges for action in choices),
        order=order,
        place=place,
        decisions=decisions,
        width=width,
    )


def _numbered(kind: Array, player: Array, street: Array, degree: Array) -> tuple[Array, Array, Array, Array]:
    """Number the decisions of each street and player; return numbers, places, counts and widths."""
    streets = int(street.max()) + 1
    order, place = np.zeros(len(kind), np.int32), np.zeros(len(kind), np.int32)
    decisions, width = np.zeros((streets, 2), np.int32), np.zeros((streets, 2), np.int32)
    for on in range(streets):
        for who in range(2):
            nodes = np.flatnonzero((kind == DECISION) & (player == who) & (street == on))
            order[nodes] = np.arange(len(nodes))
            place[nodes] = np.cumsum(degree[nodes], dtype=np.int64) - degree[nodes]
            decisions[on, who], width[on, who] = len(nodes), int(degree[nodes].sum())
    return order, place, decisions, width
