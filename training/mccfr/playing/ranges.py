"""Ranges at a node of a game's tree, by Bayes' rule from the actions on the way there."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ....envs.fields import Array
from ....envs.poker.game import PokerGame
from ....envs.poker.tree import DECISION, FOLD
from .holdings import Board, Holdings


def parents(game: PokerGame) -> Array:
    """Return `(nodes,)` int32: the node above each one, -1 above the root."""
    tree = game.tree
    above = np.full(len(tree.kind), -1, np.int32)
    above[tree.child] = np.repeat(np.arange(len(tree.kind), dtype=np.int32), tree.degree)
    return above


def ends(game: PokerGame) -> Array:
    """Return `(nodes,)` int64: one after the last node below each one."""
    above = parents(game)
    size = np.ones(len(above), np.int64)
    for node in range(len(above) - 1, 0, -1):
        size[above[node]] += size[node]
    return np.arange(len(above)) + size


def history(game: PokerGame, above: Array, node: int) -> Iterator[tuple[int, int]]:
    """Yield the decisions above a node and the action taken at each, the last one first."""
    while above[node] >= 0:
        before = int(above[node])
        if game.tree.kind[before] == DECISION:
            first = game.tree.first[before]
            yield before, int(np.flatnonzero(game.tree.child[first : first + game.tree.degree[before]] == node)[0])
        node = before


def probabilities(game: PokerGame, strategy: Array, node: int, bucket: Array) -> Array:
    """Return `(n, actions)`: what a strategy does at a decision with each of some buckets; zeros for bucket -1."""
    tree = game.tree
    on, who = tree.street[node], tree.player[node]
    entry = game.entry_base[on, who] + tree.place[node] + bucket.astype(np.int64) * tree.width[on, who]
    found = strategy[np.maximum(entry, 0)[:, None] + np.arange(tree.degree[node])]
    return np.where(bucket[:, None] >= 0, found, 0.0)


def ranges(game: PokerGame, strategy: Array, hands: Holdings, node: int, board: Board) -> Array:
    """Return each player's range at a node, by Bayes' rule from a strategy's probabilities of the actions before it.

    Args:
        strategy: `(entries,)` probabilities.
        hands: The game's hands.

    Returns:
        `(2, hands)`, of which each player's sum to 1 over the hands without board cards. A range ignores the other
        player's cards. It is 0 for a player whose strategy never reaches the node.
    """
    found = np.stack([hands.buckets(player, board) >= 0 for player in range(2)]).astype(np.float64)
    for before, action in history(game, parents(game), node):
        player, street = int(game.tree.player[before]), int(game.tree.street[before])
        bucket = hands.buckets(player, board[: hands.shown[street]])
        found[player] *= probabilities(game, strategy, before, bucket)[:, action]
    total = found.sum(axis=1, keepdims=True)
    found /= np.where(total > 0, total, 1.0)
    return found


def folds(game: PokerGame, node: int, action: int) -> bool:
    return bool(game.tree.kind[game.tree.below(node, action)] == FOLD)


def raises(game: PokerGame, node: int, action: int) -> bool:
    return bool(game.tree.actions_of(node)[action].chips > game.tree.paid[node].max())
