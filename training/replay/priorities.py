"""Prioritized sampling (Schaul et al., 2016): a tree of sums over the places of a ring, and the kernels that use it.

A place is a slot and a row. The priority of a decision is (error + epsilon)^alpha, that of a new one is the highest so
far. Places at which no transition may begin have priority 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...envs.fields import DECIDES, Array
from ...envs.native import compiler, draw
from .kernels import NOT_KEPT, RingViews, RowRange, Walk, transition

COUNT, HIGHEST = 0, 1
"""Entries of a tree's facts: how many priorities are above 0, and the highest one so far."""
FIRST, LAST, ORIGIN = 0, 1, 2
"""Entries of the span of a tree: first and last position at which transitions may begin, and the leaf of position 0."""
UNIT = 2.0**-53
PRIORITY = "priority"

compiled = compiler(Path(__file__).parent)


@dataclass(frozen=True)
class PrioritySettings:
    """How errors become priorities, named as in the paper.

    Attributes:
        alpha: How much errors matter; 0 is uniform sampling.
        epsilon: Added to errors, so that no priority is 0.
    """

    alpha: float
    epsilon: float


@compiled
def put(tree: Array, facts: Array, leaf: int, priority: float) -> None:
    """Set a priority, and the sums above it.

    Args:
        tree: `(2 n,)` float64: entry i is the sum of the entries 2 i and 2 i + 1; the last n entries are priorities.
        facts: `(2,)` float64, see `COUNT`.
        leaf: Index of the priority.
        priority: At least 0.
    """
    at = len(tree) // 2 + leaf
    facts[COUNT] += int(priority > 0) - int(tree[at] > 0)
    tree[at] = priority
    at //= 2
    while at >= 1:
        tree[at] = tree[2 * at] + tree[2 * at + 1]
        at //= 2


@compiled
def build(tree: Array, facts: Array) -> None:
    """Compute all sums from the priorities."""
    count = len(tree) // 2
    facts[COUNT] = 0.0
    for leaf in range(count, 2 * count):
        facts[COUNT] += int(tree[leaf] > 0)
    for at in range(count - 1, 0, -1):
        tree[at] = tree[2 * at] + tree[2 * at + 1]


@compiled
def find(tree: Array, sum_before: float) -> int:
    """Return the first leaf up to which the priorities add up to more than `sum_before`."""
    count = len(tree) // 2
    at = 1
    while at < count:
        at *= 2
        if sum_before >= tree[at]:
            sum_before -= tree[at]
            at += 1
    return at - count


@compiled
def leaf_of(span: Array, slots: int, rows: RowRange, position: int, row: int) -> int:
    """Return the leaf of a place. After a resume, positions have other slots, but the same leaves."""
    return int((position + span[ORIGIN]) % slots * rows.rows + (row - rows.first) // rows.step)


@compiled
def follow(tree: Array, facts: Array, active: Array, rows: RowRange, span: Array, window: Array) -> None:
    """Move the window at whose positions transitions may begin.

    Args:
        active: `(S, R)`.
        rows: The rows that have priorities.
        span: The span until now; written.
        window: First and last position of the new span, neither of which is lower.
    """
    slots = len(active)
    for position in range(span[FIRST], min(span[LAST] + 1, window[0])):
        for number in range(rows.rows):
            row = rows.first + number * rows.step
            put(tree, facts, leaf_of(span, slots, rows, position, row), 0.0)
    for position in range(max(span[LAST] + 1, window[0]), window[1] + 1):
        for number in range(rows.rows):
            row = rows.first + number * rows.step
            priority = facts[HIGHEST] if active[position % slots, row] == DECIDES else 0.0
            put(tree, facts, leaf_of(span, slots, rows, position, row), priority)
    span[FIRST], span[LAST] = window


@compiled
def draw_by_priority(
    tree: Array,
    facts: Array,
    ring: RingViews,
    walk: Walk,
    head: int,
    span: Array,
    rows: RowRange,
    state: Array,
    tries: int,
    found: Array,
    numbers: Array,
    densities: Array,
) -> int:
    """Draw transitions in proportion to their priorities; return how many last observations were not kept, or -1.

    The B draws are stratified: each one is first drawn from its own B-th part of the sum. A place without a transition
    is drawn again, from the whole sum; its priority becomes 0 if it will never have one.

    Args:
        walk: How successors are found.
        head: The number of positions written.
        state: `(1,)` uint64, the random generator.
        tries: After so many draws without a transition, return -1.
        found: `(B, 3)` int64, written: position, row, where the end is.
        numbers: `(B, 4)` float64, written as by `transition`.
        densities: `(B,)` float64, written: the probability of each, relative to uniform sampling.
    """
    slots, leaves = len(ring.active), len(tree) // 2
    missing = 0
    for index in range(len(found)):
        left = tries
        while True:
            if left == 0 or tree[1] <= 0.0:
                return -1
            uniform = float(draw(state, 0) >> np.uint64(11)) * UNIT
            if left == tries:
                uniform = (index + uniform) / len(found)
            left -= 1
            leaf = find(tree, uniform * tree[1])
            position = span[LAST] - (span[LAST] + span[ORIGIN] - leaf // rows.rows) % slots
            row = rows.first + leaf % rows.rows * rows.step
            # By rounding, a priority of 0 can be found; and the environments may have overwritten the slot.
            if tree[leaves + leaf] <= 0.0 or ring.active[position % slots, row] != DECIDES:
                continue
            end = transition(ring, walk, head, position, row, numbers[index])
            if end >= 0:
                break
            missing += end == NOT_KEPT
            if end == NOT_KEPT or head > position + walk.longest:
                put(tree, facts, leaf, 0.0)
        found[index, 0], found[index, 1], found[index, 2] = position, row, end
        densities[index] = tree[leaves + leaf] * facts[COUNT] / tree[1]
    return missing


@compiled
def learn(tree: Array, facts: Array, slots: int, rows: RowRange, span: Array, places: Array, priorities: Array) -> None:
    """Set the priorities of places that are still in the span.

    Args:
        slots: Slots S of the ring.
        rows: The rows that have priorities.
        places: `(B, 2)` int64, position and row.
        priorities: `(B,)` float64, above 0.
    """
    for index in range(len(places)):
        position, row = places[index]
        facts[HIGHEST] = max(facts[HIGHEST], priorities[index])
        if span[FIRST] <= position <= span[LAST]:
            put(tree, facts, leaf_of(span, slots, rows, position, row), priorities[index])


class Priorities:
    """The priorities of the places of a ring.

    Args:
        rows: The rows whose decisions are drawn.
        settings: How errors become priorities.
    """

    def __init__(self, ring: RingViews, rows: RowRange, settings: PrioritySettings) -> None:
        self._ring, self._rows, self._settings = ring, rows, settings
        self._slots = len(ring.active)
        self._tree = np.zeros(2 * self._slots * rows.rows)
        self._facts = np.array([0.0, 1.0])
        self._span = np.array([0, -1, 0], np.int64)

    def draw(
        self,
        walk: Walk,
        head: int,
        window: Array,
        *,
        state: Array,
        tries: int,
        found: Array,
        numbers: Array,
        densities: Array,
    ) -> int:
        """Draw transitions by priority. Arguments and result are those of `draw_by_priority`."""
        ring, rows = self._ring, self._rows
        follow(self._tree, self._facts, ring.active, rows, self._span, window)
        return draw_by_priority(
            self._tree, self._facts, ring, walk, head, self._span, rows, state, tries, found, numbers, densities
        )

    def learn(self, places: Array, errors: Array) -> None:
        """Set the priorities of drawn transitions from their errors.

        Args:
            places: `(B, 2)`, position and row.
            errors: `(B,)`, at least 0.
        """
        priorities = (errors.astype(np.float64) + self._settings.epsilon) ** self._settings.alpha
        learn(self._tree, self._facts, self._slots, self._rows, self._span, places, priorities)

    @property
    def leaves(self) -> Array:
        """The priorities of all places, `(S x rows,)`."""
        leaves: Array = self._tree[len(self._tree) // 2 :]
        return leaves

    def priority(self, position: int, row: int) -> float:
        return float(self.leaves[leaf_of(self._span, self._slots, self._rows, position, row)])

    def state(self, head: int) -> dict[str, Array]:
        """Return copies for a checkpoint: all priorities, the span relative to `head`, the highest priority."""
        return {
            PRIORITY: self.leaves.copy(),
            "priority_span": self._span + np.array([-head, -head, head]),
            "priority_highest": self._facts[HIGHEST:].copy(),
        }

    def load_state(self, saved: Mapping[str, Array], head: int) -> None:
        """Continue from saved priorities. Without any, or with those of another ring, all become the highest one.

        Args:
            saved: From `state`, or without its entries.
            head: The position that corresponds to the head of `state`.
        """
        self.leaves[:] = 0.0
        self._span[:] = 0, -1, 0
        if PRIORITY in saved and saved[PRIORITY].shape == self.leaves.shape:
            self.leaves[:] = saved[PRIORITY]
            self._facts[HIGHEST] = saved["priority_highest"][0]
            self._span[:] = saved["priority_span"] + np.array([head, head, -head])
        build(self._tree, self._facts)
