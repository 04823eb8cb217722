"""The betting of a game as arrays: the public part of the game, without the cards.

A node is a history of public actions. What a player knows besides the history is a *bucket*; a node and a bucket are an
information set.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..fields import Array

DECISION, STREET, FOLD, SHOWDOWN = range(4)
"""Kinds of nodes: a player decides, cards are dealt, a player has folded, hands are compared."""

State = TypeVar("State")


class Action(NamedTuple):
    """An action at a decision.

    Attributes:
        name: Its name, such as `call` or `raise 6`, to six chips on this street.
        chips: The total chips of its player after it.
        number: Its number among all actions of the game.
    """

    name: str
    chips: float
    number: int = 0


DEAL = Action("deal", 0)
"""The action at a `STREET`."""


class BettingStatus(NamedTuple):
    """The status of the betting at a node.

    Attributes:
        kind: `DECISION`, `STREET`, `FOLD` or `SHOWDOWN`.
        player: The player who decides or has folded; 0 elsewhere.
        street: Number of times that public cards were dealt.
        paid: Chips that both players have put in.
        result: The index of the result of a showdown.
    """

    kind: int
    player: int
    street: int
    paid: tuple[float, float]
    result: int = 0


class Betting(Protocol[State]):
    """The betting rules of a game, as pure functions of its own state type."""

    def root(self) -> State:
        """Return the state of the first decision."""

    def status(self, state: State) -> BettingStatus:
        """Return the status of `state`."""

    def actions(self, state: State) -> Sequence[Action]:
        """Return the actions of a decision."""

    def after(self, state: State, action: Action) -> State:
        """Return the state after one of its `actions`; after a `STREET`, the action is ignored."""


@dataclass(frozen=True)
class Tree:
    """A betting tree of n nodes and e edges; a node comes before those below it, so node 0 is the root.

    Attributes:
        kind: `(n,)` uint8.
        player: `(n,)` uint8, the player who decides or has folded.
        street: `(n,)` uint8.
        paid: `(n, 2)` float32, chips that both players have put in.
        result: `(n,)` int16, the index of the result of a showdown.
        first: `(n,)` int32, the first edge of a node; its edges are consecutive.
        degree: `(n,)` uint8, number of edges: the actions of a decision, or one for a `STREET`.
        child: `(e,)` int32, the node below an edge.
        actions: One per edge; `deal` below a `STREET`.
        order: `(n,)` int32, index of a decision among those of its street and player.
        place: `(n,)` int32, number of actions of the decisions before it of the same street and player.
        decisions: `(streets, 2)` int32, number of decisions of each street and player.
        width: `(streets, 2)` int32, number of actions of these decisions.
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
        return len(self.width)

    def actions_of(self, node: int) -> tuple[Action, ...]:
        return self.actions[self.first[node] : self.first[node] + self.degree[node]]

    def below(self, node: int, action: int) -> int:
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
