"""Exact values of strategies in small games. A strategy is `(entries,)` probabilities."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ....envs.poker.game import PokerGame
from ....envs.poker.tree import DECISION, STREET
from ..compiled import compiled
from .public_tree import PLAYERS, PublicTree, public_tree

Vector = NDArray[np.float64]


@compiled
def spread(p: PublicTree, strategy: Vector, player: int, reach: Vector) -> None:
    """Write the probability with which each hand of a player reaches every node by its own decisions.

    Args:
        p: The game.
        strategy: `(entries,)` probabilities.
        reach: `(n, b)`, written.
    """
    tree = p.nodes
    reach[0, : p.buckets[0]] = 1
    for node in range(len(tree.kind)):
        street, first = tree.street[node], tree.first[node]
        if tree.kind[node] == STREET:
            below = tree.child[first]
            for hand in range(p.buckets[street + 1]):
                reach[below, hand] = reach[node, p.parent[street + 1, player, hand]]
            continue
        for action in range(tree.degree[node]):
            below = tree.child[first + action]
            for hand in range(p.buckets[street]):
                share = 1.0
                if tree.player[node] == player:
                    share = strategy[tree.entry[node] + hand * tree.stride[node] + action]
                reach[below, hand] = reach[node, hand] * share


@compiled
def settle(p: PublicTree, node: int, player: int, reach: Vector, value: Vector) -> None:
    """Write the value of a terminal to each hand of a player, against the other's hands that reach it."""
    tree = p.nodes
    street, weights = tree.street[node], p.weight[tree.result[node]]
    amount = tree.amount[node] if player == 0 else -tree.amount[node]
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
    tree = p.nodes
    for node in range(len(tree.kind) - 1, -1, -1):
        street, first = tree.street[node], tree.first[node]
        if tree.degree[node] == 0:
            settle(p, node, player, reach, value)
            continue
        own = tree.kind[node] == DECISION and tree.player[node] == player
        for hand in range(p.buckets[street]):
            value[node, hand] = -np.inf if own and best else 0
        if tree.kind[node] == STREET:
            below = tree.child[first]
            for hand in range(p.buckets[street + 1]):
                value[node, p.parent[street + 1, player, hand]] += value[below, hand]
            continue
        for action in range(tree.degree[node]):
            below = tree.child[first + action]
            for hand in range(p.buckets[street]):
                worth = value[below, hand]
                if own and best:
                    value[node, hand] = max(value[node, hand], worth)
                elif own:
                    value[node, hand] += worth * strategy[tree.entry[node] + hand * tree.stride[node] + action]
                else:
                    value[node, hand] += worth
    return float(value[0, : p.buckets[0]].sum())


Strategy = NDArray[np.float64]


def average_strategy(game: PokerGame, table: NDArray[np.floating]) -> Strategy:
    """Return the average strategy of a table; uniform where the sums are 0.

    Args:
        table: `(entries, 2)` regrets and sums of the average strategy.

    Returns:
        `(entries,)` probabilities.
    """
    return normalised(game, table[:, 1])


def normalised(game: PokerGame, sums: NDArray[np.floating]) -> Strategy:
    """Return `(entries,)` shares of each row's sum, uniform where the sum is 0."""
    strategy = np.zeros(game.entries)
    tree = game.tree
    for node in map(int, np.flatnonzero(tree.kind == DECISION)):
        street, player, degree = tree.street[node], tree.player[node], int(tree.degree[node])
        start, stride = game.entry(node, 0), int(tree.width[street, player])
        share_out(sums[start:], strategy[start:], stride, game.buckets[street], degree)
    return strategy


@compiled
def share_out(sums: NDArray[np.floating], strategy: Strategy, stride: int, buckets: int, degree: int) -> None:
    """Write the strategy of one decision for all buckets. Both arrays start at its first entry."""
    for first in range(0, buckets * stride, stride):
        total = 0.0
        for action in range(degree):
            total += max(sums[first + action], 0.0)
        for action in range(degree):
            strategy[first + action] = max(sums[first + action], 0.0) / total if total > 0 else 1 / degree


def game_value(game: PokerGame, strategy: Strategy) -> float:
    """Return the winnings of player 0 per hand if both players follow the strategy.

    Raises:
        TooManyDeals: The game is too large.
    """
    return _against(public_tree(game), strategy, 0, best=False)[0]


def nash_conv(game: PokerGame, strategy: Strategy) -> float:
    """Return the sum of both players' gains per hand by a best response: twice the exploitability, 0 in equilibrium.

    Raises:
        TooManyDeals: The game is too large.
    """
    return sum(_against(public_tree(game), strategy, player, best=True)[0] for player in range(PLAYERS))


def best_response(game: PokerGame, strategy: Strategy, player: int) -> tuple[float, Strategy]:
    """Return a player's winnings per hand by a best response, and the strategy with this response in it.

    Raises:
        TooManyDeals: The game is too large.
    """
    public = public_tree(game)
    won, values = _against(public, strategy, player, best=True)
    response = strategy.copy()
    tree = public.nodes
    for node in np.flatnonzero((tree.kind == DECISION) & (tree.player == player)):
        hands, degree, first = public.buckets[tree.street[node]], tree.degree[node], tree.first[node]
        best = values[tree.child[first : first + degree], :hands].argmax(axis=0)
        entries = tree.entry[node] + np.arange(hands)[:, None] * tree.stride[node] + np.arange(degree)
        response[entries] = np.arange(degree) == best[:, None]
    return won, response


def _against(public: PublicTree, strategy: Strategy, player: int, *, best: bool) -> tuple[float, NDArray[np.float64]]:
    """Return the value of the game to a player, and of all nodes, `(n, b)`."""
    reach = np.zeros((len(public.nodes.kind), int(public.buckets.max())))
    values = np.zeros_like(reach)
    spread(public, strategy, 1 - player, reach)
    return evaluate(public, strategy, player, reach, values, best), values
