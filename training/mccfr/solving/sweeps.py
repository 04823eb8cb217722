"""Passes over a public tree for all hands at once: reach probabilities downwards, values upwards.

Nodes have smaller numbers than those below them, so a pass is a loop over the numbers.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ....envs.poker.tree import DECISION, STREET
from ..compiled import compiled
from .public_tree import PublicTree

Vector = NDArray[np.float64]


@compiled
def spread(p: PublicTree, strategy: Vector, player: int, reach: Vector) -> None:
    """Write the probability with which each hand of a player reaches every node by its own decisions.

    Args:
        p: The game.
        strategy: `(entries,)` probabilities.
        reach: `(n, b)`, written.
    """
    reach[0, : p.buckets[0]] = 1
    for node in range(len(p.kind)):
        street, first = p.street[node], p.first[node]
        if p.kind[node] == STREET:
            below = p.child[first]
            for hand in range(p.buckets[street + 1]):
                reach[below, hand] = reach[node, p.parent[street + 1, player, hand]]
            continue
        for action in range(p.degree[node]):
            below = p.child[first + action]
            for hand in range(p.buckets[street]):
                share = 1.0
                if p.player[node] == player:
                    share = strategy[p.entry[node] + hand * p.stride[node] + action]
                reach[below, hand] = reach[node, hand] * share


@compiled
def settle(p: PublicTree, node: int, player: int, reach: Vector, value: Vector) -> None:
    """Write the value of a terminal to each hand of a player, against the other's hands that reach it."""
    street, weights = p.street[node], p.weight[p.result[node]]
    amount = p.amount[node] if player == 0 else -p.amount[node]
    for hand in range(p.buckets[street]):
        value[node, hand] = 0
    for pair in range(p.pairs[street], p.pairs[street + 1]):
        value[node, p.hands[pair, player]] += amount * weights[pair] * reach[node, p.hands[pair, 1 - player]]


@compiled
def evaluate(p: PublicTree, strategy: Vector, player: int, reach: Vector, value: Vector, best: bool) -> float:
    """Write the counterfactual value of every node to each hand of a player; return the value of the game.

    Args:
        p: The game.
        strategy: `(entries,)` probabilities.
        reach: `(n, b)` the probability with which the other's hands reach every node.
        value: `(n, b)`, written.
        best: Whether the player takes the best action at each decision instead of following the strategy.
    """
    for node in range(len(p.kind) - 1, -1, -1):
        street, first = p.street[node], p.first[node]
        if p.degree[node] == 0:
            settle(p, node, player, reach, value)
            continue
        own = p.kind[node] == DECISION and p.player[node] == player
        for hand in range(p.buckets[street]):
            value[node, hand] = -np.inf if own and best else 0
        if p.kind[node] == STREET:
            below = p.child[first]
            for hand in range(p.buckets[street + 1]):
                value[node, p.parent[street + 1, player, hand]] += value[below, hand]
            continue
        for action in range(p.degree[node]):
            below = p.child[first + action]
            for hand in range(p.buckets[street]):
                worth = value[below, hand]
                if own and best:
                    value[node, hand] = max(value[node, hand], worth)
                elif own:
                    value[node, hand] += worth * strategy[p.entry[node] + hand * p.stride[node] + action]
                else:
                    value[node, hand] += worth
    return float(value[0, : p.buckets[0]].sum())
