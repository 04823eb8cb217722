"""A game's betting tree as the sampling kernels read it: decisions with their children, and values of terminals."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....envs.poker.game import PokerGame
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
