"""Values of deals if both players follow given strategies: exactly, or by playing once."""

from __future__ import annotations

import numpy as np

from ....envs.fields import Array
from ....envs.native import draw
from ....envs.poker.tree import DECISION, FOLD, SHOWDOWN, STREET
from ..compiled import compiled, inlined
from ..solving.public_tree import TreeNodes


@inlined
def entry_of(nodes: TreeNodes, node: int, bucket: Array) -> int:
    """The first entry of a decision, for the buckets `(streets, 2)` of a deal."""
    return int(nodes.entry[node] + bucket[nodes.street[node], nodes.player[node]] * nodes.stride[node])


@compiled
def expected(
    nodes: TreeNodes, first: Array, second: Array, bucket: Array, sign: Array, root: int, end: int, value: Array
) -> None:
    """Write the expected value of a deal to player 0 at every node from `root` to `end - 1`.

    Args:
        first: `(entries,)` probabilities by which player 0 acts.
        second: The same of player 1.
        bucket: `(streets, 2)` the deal's buckets.
        sign: `(results,)` the winner of a showdown.
        root: A node.
        end: One after the last node below it.
        value: `(nodes,)` float64 chips, written.
    """
    for node in range(end - 1, root - 1, -1):
        kind = nodes.kind[node]
        if kind == FOLD:
            value[node] = nodes.amount[node]
        elif kind == SHOWDOWN:
            value[node] = nodes.amount[node] * sign[nodes.result[node]]
        elif kind == STREET:
            value[node] = value[nodes.child[nodes.first[node]]]
        else:
            edge, entry = nodes.first[node], entry_of(nodes, node, bucket)
            strategy = first if nodes.player[node] == 0 else second
            total = 0.0
            for action in range(nodes.degree[node]):
                total += strategy[entry + action] * value[nodes.child[edge + action]]
            value[node] = total


@compiled
def played(
    nodes: TreeNodes, first: Array, second: Array, bucket: Array, sign: Array, root: int, random: Array
) -> float:
    """Play a deal once from a node on; return the winnings of player 0 in chips.

    Args:
        first: `(entries,)` probabilities by which player 0 acts.
        second: The same of player 1.
        bucket: `(streets, 2)` the deal's buckets.
        sign: `(results,)` the winner of a showdown.
        root: The node.
        random: `(1,)` uint64, a generator's state, advanced.
    """
    node = root
    while nodes.kind[node] == DECISION or nodes.kind[node] == STREET:
        edge, action = nodes.first[node], 0
        if nodes.kind[node] == DECISION:
            entry = entry_of(nodes, node, bucket)
            strategy = first if nodes.player[node] == 0 else second
            left = np.float64(draw(random, 0) >> np.uint64(11)) / 2.0**53
            last = nodes.degree[node] - 1
            while action < last and left >= strategy[entry + action]:
                left -= strategy[entry + action]
                action += 1
        node = nodes.child[edge + action]
    if nodes.kind[node] == FOLD:
        return float(nodes.amount[node])
    return float(nodes.amount[node] * sign[nodes.result[node]])


@compiled
def expected_below(
    nodes: TreeNodes, strategy: Array, buckets: Array, signs: Array, leaves: Array, ends: Array, values: Array
) -> None:
    """Write the expected values of deals to player 0 at some nodes if both follow `strategy`.

    Args:
        strategy: `(entries,)` probabilities.
        buckets: `(deals, streets, 2)`.
        signs: `(deals, results)`.
        leaves: `(leaves,)` nodes.
        ends: `(leaves,)` one after the last node below each.
        values: `(deals, leaves)` float64 chips, written.
    """
    value = np.zeros(len(nodes.kind))
    for deal in range(len(buckets)):
        for leaf in range(len(leaves)):
            root = leaves[leaf]
            expected(nodes, strategy, strategy, buckets[deal], signs[deal], root, ends[leaf], value)
            values[deal, leaf] = value[root]


@compiled
def played_below(
    nodes: TreeNodes, strategy: Array, buckets: Array, signs: Array, leaves: Array, random: Array, values: Array
) -> None:
    """Write the winnings of player 0 in deals played once from some nodes on; arguments as in `expected_below`."""
    for deal in range(len(buckets)):
        for leaf in range(len(leaves)):
            values[deal, leaf] = played(nodes, strategy, strategy, buckets[deal], signs[deal], leaves[leaf], random)


@compiled
def duel(
    nodes: TreeNodes, one: Array, other: Array, buckets: Array, signs: Array, random: Array, results: Array
) -> None:
    """Play deals once from each seat; write the winnings of one strategy against the other per hand.

    Args:
        one: `(entries,)` probabilities.
        other: The same of the opponent.
        buckets: `(deals, streets, 2)`.
        signs: `(deals, results)`.
        random: `(1,)` uint64, a generator's state, advanced.
        results: `(deals,)` float64 chips, written.
    """
    for deal in range(len(buckets)):
        first = played(nodes, one, other, buckets[deal], signs[deal], 0, random)
        second = played(nodes, other, one, buckets[deal], signs[deal], 0, random)
        results[deal] = (first - second) / 2
