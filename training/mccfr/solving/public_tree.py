"""Betting trees as kernels read them: all nodes; the decisions, for sampling; and a small game in vector form.

The last is its public tree with a vector over all hands of a player at every node. A hand is a bucket: what a player
knows besides the betting. Chance has two effects. Dealing splits a bucket into those of the next street, and at the end
each pair of buckets has a weight.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....envs import PacError
from ....envs.poker.game import Deals, PokerGame
from ....envs.poker.tree import DECISION, FOLD, SHOWDOWN, STREET, Tree

SEAT, PLACE, ORDER, DEGREE, CHILDREN = (np.uint64(column) for column in range(5))
"""Columns of `SamplingTree.nodes`.

They are 2 x street + player, the first entry and the row within a bucket, and the number of actions. Then comes a child
per action: the line of a decision, or `TERMINAL + t` for terminal t."""
TERMINAL = np.uint32(1 << 31)
SEATS = np.uint64(2)


class SamplingTree(NamedTuple):
    """The betting tree of a game: n decisions and t terminals, the root first. Dealing has no node.

    Attributes:
        nodes: `(n, 4 + most actions)` int32.
        amounts: `(t,)` float32, the winnings of player 0 if the sign of the result is 1.
        results: `(t,)` uint32, the result that decides. The last one, after those of the game, always has sign 1.
    """

    nodes: NDArray[np.uint32]
    amounts: NDArray[np.float32]
    results: NDArray[np.uint32]


class DealtHands(NamedTuple):
    """Deals as the kernels read them, one per row of the arrays.

    Attributes:
        entries: `(deals, 2 x streets)` uint64, the first entry of each seat's bucket.
        rows: `(deals, 2 x streets)` uint64, its first row.
        signs: `(deals, results + 1)` float32, whether player 0 wins a showdown (1), loses (-1) or draws; the last is 1.
    """

    entries: NDArray[np.uint64]
    rows: NDArray[np.uint64]
    signs: NDArray[np.float32]


def sampling_tree(game: PokerGame) -> SamplingTree:
    tree = game.tree
    decisions = np.flatnonzero(tree.kind == DECISION)
    terminals = np.flatnonzero((tree.kind == FOLD) | (tree.kind == SHOWDOWN))
    code = np.zeros(len(tree.kind), np.uint32)
    code[decisions] = np.arange(len(decisions))
    code[terminals] = TERMINAL + np.arange(len(terminals), dtype=np.uint32)
    nodes = np.zeros((len(decisions), int(CHILDREN) + int(tree.degree[decisions].max())), np.uint32)
    nodes[:, SEAT] = 2 * tree.street[decisions].astype(np.uint32) + tree.player[decisions]
    nodes[:, PLACE], nodes[:, ORDER] = tree.place[decisions], tree.order[decisions]
    nodes[:, DEGREE] = tree.degree[decisions]
    child = code[_after_dealing(tree)]
    for line, node in zip(nodes, decisions, strict=True):
        first, degree = int(tree.first[node]), int(tree.degree[node])
        line[int(CHILDREN) : int(CHILDREN) + degree] = child[first : first + degree]
    amounts, results = payoffs(game, terminals)
    return SamplingTree(nodes, amounts.astype(np.float32), results.astype(np.uint32))


def payoffs(game: PokerGame, terminals: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the winnings of player 0 at some terminals if the sign of their result is 1, and which result that is.

    A player who folds loses the chips paid, whatever the cards are. Such a terminal has an additional result,
    whose sign is always 1.
    """
    tree = game.tree
    results = 1 if game.deals is None else game.deals.sign.shape[1]
    folds, loser = tree.kind[terminals] == FOLD, tree.player[terminals]
    lost = tree.paid[terminals, loser] * np.where(loser == 0, -1, 1)
    amounts = np.where(folds, lost, tree.paid[terminals].min(axis=1)).astype(np.float64)
    return amounts, np.where(folds, results, tree.result[terminals]).astype(np.int64)


def _after_dealing(tree: Tree) -> NDArray[np.int32]:
    """Return the child of every edge, without nodes that deal a street."""
    child = tree.child.copy()
    while True:
        dealing = tree.kind[child] == STREET
        if not dealing.any():
            return child
        child[dealing] = tree.child[tree.first[child[dealing]]]


def all_deals(game: PokerGame) -> DealtHands:
    """Return all deals of a small game.

    Raises:
        ValueError: The game has too many deals to list them.
    """
    deals = game.deals
    if deals is None:
        raise ValueError(f"{game.name} does not list its deals")
    count = len(deals.sign)
    bucket = deals.bucket.reshape(count, -1).astype(np.uint64)
    return DealtHands(
        entries=game.entry_base.ravel().astype(np.uint64) + bucket * game.tree.width.ravel().astype(np.uint64),
        rows=game.row_base.ravel().astype(np.uint64) + bucket * game.tree.decisions.ravel().astype(np.uint64),
        signs=np.column_stack([deals.sign, np.ones(count)]).astype(np.float32),
    )


PLAYERS = 2


class TooManyDeals(PacError):
    """A game has too many deals to enumerate them."""

    title = "No exact solution"


class TreeNodes(NamedTuple):
    """The nodes of a betting tree, n nodes and e edges, as kernels read them.

    Attributes:
        kind: `(n,)` uint8, of `envs.poker.tree`.
        player: `(n,)` uint8.
        street: `(n,)` uint8.
        first: `(n,)` int32, its first edge.
        degree: `(n,)` uint8, number of edges.
        child: `(e,)` int32.
        amount: `(n,)` float64 chips, of a terminal: the winnings of player 0 if the sign of the result is 1.
        result: `(n,)` int32, of a terminal: the index of its result, after those of the game for a `FOLD`.
        entry: `(n,)` int64, the first entry of a decision for bucket 0.
        stride: `(n,)` int64, entries from one bucket to the next.
    """

    kind: NDArray[np.uint8]
    player: NDArray[np.uint8]
    street: NDArray[np.uint8]
    first: NDArray[np.int32]
    degree: NDArray[np.uint8]
    child: NDArray[np.int32]
    amount: NDArray[np.float64]
    result: NDArray[np.int32]
    entry: NDArray[np.int64]
    stride: NDArray[np.int64]


def tree_nodes(game: PokerGame) -> TreeNodes:
    """Return the betting tree of a game as kernels read it."""
    tree = game.tree
    ends = (tree.kind == FOLD) | (tree.kind == SHOWDOWN)
    amount, result = np.zeros(len(tree.kind)), np.zeros(len(tree.kind), np.int32)
    amount[ends], result[ends] = payoffs(game, np.flatnonzero(ends))
    return TreeNodes(
        kind=tree.kind,
        player=tree.player,
        street=tree.street,
        first=tree.first,
        degree=tree.degree,
        child=tree.child,
        amount=amount,
        result=result,
        entry=game.entry_base[tree.street, tree.player] + tree.place,
        stride=tree.width[tree.street, tree.player].astype(np.int64),
    )


class PublicTree(NamedTuple):
    """A game with at most b buckets on a street, as kernels read it.

    Attributes:
        nodes: Its betting tree.
        buckets: `(streets,)` int64.
        parent: `(streets, 2, b)` int32, the bucket on the previous street, by player and bucket.
        pairs: `(streets + 1,)` int64, where a street's pairs of buckets begin.
        hands: `(pairs, 2)` int32, the buckets of both players.
        weight: `(results + 1, pairs)` float64, the probability of a pair times the sign of a result; the last one is 1.
    """

    nodes: TreeNodes
    buckets: NDArray[np.int64]
    parent: NDArray[np.int32]
    pairs: NDArray[np.int64]
    hands: NDArray[np.int32]
    weight: NDArray[np.float64]


@lru_cache(maxsize=8)
def public_tree(game: PokerGame) -> PublicTree:
    """Return `game` in vector form.

    Raises:
        TooManyDeals: Its deals are not listed.
    """
    if game.deals is None:
        raise TooManyDeals(
            f"{game.name} has too many deals to enumerate; kuhn, leduc and liars_dice can be solved exactly"
        )
    bounds, hands, weight = _pairs(game.deals)
    return PublicTree(
        nodes=tree_nodes(game),
        buckets=np.array(game.buckets, np.int64),
        parent=_parents(game.deals, game.buckets),
        pairs=bounds,
        hands=hands,
        weight=weight,
    )


def _parents(deals: Deals, buckets: tuple[int, ...]) -> NDArray[np.int32]:
    parent = np.zeros((len(buckets), PLAYERS, max(buckets)), np.int32)
    for street in range(1, len(buckets)):
        for player in range(PLAYERS):
            parent[street, player, deals.bucket[:, street, player]] = deals.bucket[:, street - 1, player]
    return parent


def _pairs(deals: Deals) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    """Return where each street's pairs begin, the pairs, and their weights: sums over the deals with that pair."""
    signs = np.column_stack([deals.sign, np.ones(len(deals.sign))]) / len(deals.sign)
    hands, weights = [], []
    for street in range(deals.bucket.shape[1]):
        found, inverse = np.unique(deals.bucket[:, street], axis=0, return_inverse=True)
        weight = np.zeros((len(found), signs.shape[1]))
        np.add.at(weight, inverse.ravel(), signs)
        hands.append(found.astype(np.int32))
        weights.append(weight)
    bounds = np.cumsum([0, *map(len, hands)], dtype=np.int64)
    return bounds, np.concatenate(hands), np.ascontiguousarray(np.concatenate(weights).T)
