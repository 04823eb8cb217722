"""Outcome sampling (Lanctot et al., 2009): a traversal follows one line of play, and learns along it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ....envs.native import GOLDEN, mixed, stream
from ..compiled import compiled, inlined
from .matching import LOW, ONE, TWO, UNIT, ZERO, chance, follow, matched, pick, uniform
from .sampling_tree import CHILDREN, DEGREE, ORDER, PLACE, SEAT, SEATS, TERMINAL
from .sharing import exchange
from .traversal import TraversalArrays

EXPLORE = np.float32(0.6)
"""The probability with which the traverser takes a uniformly random action."""


@inlined
def explore(
    table: NDArray[np.float32], at: np.uint64, degree: np.uint64, word: np.uint64
) -> tuple[np.uint64, np.float32]:
    """Draw an action of the traverser; return it and its probability."""
    total = matched(table, at, degree)
    share = uniform(word)
    if np.float32(np.int64(word & LOW)) * UNIT < EXPLORE:
        action = np.uint64(share * np.float32(degree))
    else:
        action = pick(table, at, degree, total, share)
    return action, EXPLORE / np.float32(degree) + (ONE - EXPLORE) * chance(table, at, degree, total, action)


@inlined
def play(
    w: TraversalArrays, deal: np.uint64, player: np.uint64, random: np.uint64, weight: np.float32
) -> tuple[np.uint64, int, np.float32]:
    """Play one line; return how many decisions the traverser and the other made, and the value to the traverser.

    The value is divided by the probability of the traverser's actions. So are the weights with which the other's
    strategies are added to their averages.
    """
    plan, hands, visits = w.plan, w.hands, w.visits
    node, depth, others, reach = np.uint32(0), np.uint64(0), 0, ONE
    while node < TERMINAL:
        seat, degree = plan.nodes[node, SEAT], np.uint64(plan.nodes[node, DEGREE])
        at = TWO * (hands.entries[deal, seat] + plan.nodes[node, PLACE])
        word = mixed(random + np.uint64(node + np.uint32(1)) * GOLDEN)
        if (seat & np.uint32(1)) == player:
            action, probability = explore(w.table, at, degree, word)
            visits.node[depth], visits.below[depth] = node, action
            reach *= probability
            depth += np.uint64(1)
        else:
            action = follow(w.table, w.rests, at, degree, word, weight / reach)
            others += 1
        node = plan.nodes[node, CHILDREN + action]
    end = node - TERMINAL
    value = plan.amounts[end] * hands.signs[deal, plan.results[end]] / reach
    return depth, others, -value if player else value


@inlined
def learn_line(
    w: TraversalArrays, deal: np.uint64, depth: np.uint64, value: np.float32, weight: np.float32
) -> np.float32:
    """Update the traverser's regrets along a line, from its end; return this sample of the game's value."""
    plan, hands, table = w.plan, w.hands, w.table
    while depth > np.uint64(0):
        depth -= np.uint64(1)
        node, chosen = w.visits.node[depth], np.uint64(w.visits.below[depth])
        seat, degree = plan.nodes[node, SEAT], np.uint64(plan.nodes[node, DEGREE])
        at = TWO * (hands.entries[deal, seat] + plan.nodes[node, PLACE])
        mean = value * chance(table, at, degree, matched(table, at, degree), chosen)
        for action in range(degree):
            table[at + TWO * action] += weight * ((value if action == chosen else ZERO) - mean)
        w.updates[hands.rows[deal, seat] + plan.nodes[node, ORDER]] += np.uint32(1)
        value = mean
    return value


@compiled
def sample_outcome(
    w: TraversalArrays, chosen: NDArray[np.uint32], seed: np.uint64, first: np.uint64, linear: bool
) -> tuple[float, int, int]:
    """Make an iteration per deal. Arguments and results are those of `sample_external`."""
    utility, visited, updated = 0.0, 0, 0
    for index in range(np.uint64(len(chosen))):
        deal = np.uint64(chosen[index])
        begun = stream(seed, first + np.uint64(index))
        weight = np.float32(first + np.uint64(index) + np.uint64(1)) if linear else ONE
        for seat in range(SEATS):
            player = np.uint64(seat)
            depth, others, value = play(w, deal, player, stream(begun, player), weight)
            worth = float(learn_line(w, deal, depth, value, weight))
            utility += -worth if player else worth
            visited += others + int(depth)
            updated += int(depth)
        if w.shared.stretch and np.uint64(index + 1) % w.shared.stretch == np.uint64(0):
            exchange(w.shared, w.table, w.updates)
    return utility / 2, visited, updated
