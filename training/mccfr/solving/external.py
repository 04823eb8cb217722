"""External sampling (Lanctot et al., 2009): a traversal visits all actions of one player and samples the other's.

There is no recursion and no stack. First the visited nodes are listed, children after their parents. Then values are
computed from the end of the list. The traverser's strategy is only needed there, so each row is read and written once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from ....envs.native import GOLDEN, mixed, stream
from ..compiled import compiled, inlined
from .matching import LOW, ONE, TWO, UNIT, ZERO, chance, follow, matched, pick, uniform
from .public_tree import CHILDREN, DEGREE, ORDER, PLACE, SEAT, SEATS, TERMINAL
from .sharing import exchange
from .traversal import TraversalArrays

TO_WRITE, KEEP, DATA = 1, 3, 1
"""Arguments of `llvm.prefetch`: for writing, keep in all cache levels, data cache."""


def _prefetch(_context: Any, array: Any, place: Any) -> Any:
    """Prefetch the cache line of an element that will be written: the core takes it over before the kernel needs it."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = signature.args[0]
        view = context.make_array(kind)(context, builder, arguments[0])
        at = cgutils.get_item_pointer(context, builder, kind, view, [arguments[1]])  # type: ignore[no-untyped-call]
        word, flag = cgutils.voidptr_t, ir.IntType(32)
        fetch = builder.module.declare_intrinsic(
            "llvm.prefetch", [word], ir.FunctionType(ir.VoidType(), [word, flag, flag, flag])
        )
        builder.call(fetch, [builder.bitcast(at, word), flag(TO_WRITE), flag(KEEP), flag(DATA)])
        return context.get_dummy_value()

    return types.void(array, place), build


prefetch: Any = intrinsic(_prefetch)


@inlined
def visit(
    w: TraversalArrays, deal: np.uint64, player: np.uint64, random: np.uint64, weight: np.float32
) -> tuple[np.uint64, int]:
    """List visited nodes and values of terminals; return the list's length and the number of the other's decisions.

    The other player's action at node n is drawn with output n of the random stream. Rows are prefetched as soon
    as it is known that they are needed.
    """
    plan, hands, visits = w.plan, w.hands, w.visits
    visits.node[0] = np.uint32(0)
    count, others, place = np.uint64(1), 0, np.uint64(0)
    while place < count:
        node = visits.node[place]
        while node < TERMINAL and (plan.nodes[node, SEAT] & np.uint32(1)) != player:
            at = TWO * (hands.entries[deal, plan.nodes[node, SEAT]] + plan.nodes[node, PLACE])
            word = mixed(random + np.uint64(node + np.uint32(1)) * GOLDEN)
            action = follow(w.table, w.rests, at, np.uint64(plan.nodes[node, DEGREE]), word, weight)
            node = plan.nodes[node, CHILDREN + action]
            others += 1
        visits.node[place] = node
        if node >= TERMINAL:
            end = node - TERMINAL
            value = plan.amounts[end] * hands.signs[deal, plan.results[end]]
            visits.value[place] = -value if player else value
        else:
            seat = plan.nodes[node, SEAT]
            prefetch(w.table, TWO * (hands.entries[deal, seat] + plan.nodes[node, PLACE]))
            prefetch(w.updates, hands.rows[deal, seat] + plan.nodes[node, ORDER])
            visits.below[place] = count
            for tried in range(np.uint64(plan.nodes[node, DEGREE])):
                child = plan.nodes[node, CHILDREN + tried]
                if child < TERMINAL:
                    prefetch(w.table, TWO * (hands.entries[deal, plan.nodes[child, SEAT]] + plan.nodes[child, PLACE]))
                visits.node[count] = child
                count += np.uint64(1)
        place += np.uint64(1)
    return count, others


@inlined
def learn(w: TraversalArrays, deal: np.uint64, count: np.uint64, weight: np.float32) -> int:
    """Compute the values of the list from its end, and update the traverser's regrets; return the number of rows."""
    plan, hands, visits, table = w.plan, w.hands, w.visits, w.table
    learned, place = 0, count
    while place > np.uint64(0):
        place -= np.uint64(1)
        node = visits.node[place]
        if node >= TERMINAL:
            continue
        seat, degree, below = (
            plan.nodes[node, SEAT],
            np.uint64(plan.nodes[node, DEGREE]),
            np.uint64(visits.below[place]),
        )
        at = TWO * (hands.entries[deal, seat] + plan.nodes[node, PLACE])
        total, matching, plain = ZERO, ZERO, ZERO
        for action in range(degree):
            regret = max(table[at + TWO * action], ZERO)
            total += regret
            matching += regret * visits.value[below + action]
            plain += visits.value[below + action]
        value = matching / total if total > ZERO else plain / np.float32(degree)
        for action in range(degree):
            table[at + TWO * action] += weight * (visits.value[below + action] - value)
        visits.value[place] = value
        w.updates[hands.rows[deal, seat] + plan.nodes[node, ORDER]] += np.uint32(1)
        learned += 1
    return learned


@compiled
def sample_external(
    w: TraversalArrays, chosen: NDArray[np.uint32], seed: np.uint64, first: np.uint64, linear: bool
) -> tuple[float, int, int]:
    """Make an iteration per deal: a traversal for each player. The second one uses the updates of the first.

    Args:
        w: The game, its deals and the tables, read and written.
        chosen: `(iterations,)` the deal of each iteration.
        seed: The run's seed.
        first: The number of the first iteration; iteration k draws from stream k.
        linear: Weight iteration k by k + 1.

    Returns:
        The sum of player 0's utilities, decisions visited, rows updated.
    """
    utility, visited, updated = 0.0, 0, 0
    for index in range(np.uint64(len(chosen))):
        deal = np.uint64(chosen[index])
        begun = stream(seed, first + np.uint64(index))
        weight = np.float32(first + np.uint64(index) + np.uint64(1)) if linear else ONE
        for seat in range(SEATS):
            player = np.uint64(seat)
            count, others = visit(w, deal, player, stream(begun, player), weight)
            learned = learn(w, deal, count, weight)
            utility += -w.visits.value[0] if player else w.visits.value[0]
            visited += others + learned
            updated += learned
        if w.shared.stretch and np.uint64(index + 1) % w.shared.stretch == np.uint64(0):
            exchange(w.shared, w.table, w.updates)
    return utility / 2, visited, updated


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
