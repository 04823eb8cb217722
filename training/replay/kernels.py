"""Kernels of the replay: what a step adds, how a transition is found, how it is drawn.

A position is the number of a slot since the ring's first one: position p is in slot p % S. The head is the number of
positions written so far.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...envs.fields import DECIDES, OUT, PLAYED, Array
from ...envs.native import compiler, draw

OLDEST_AGE = 255
RING, FINAL, NOTHING = 0, 1, 2
"""Where the observation after a transition is: in the ring, among the last observations, or nowhere: its value is 0."""
UNFINISHED, NOT_KEPT = -1, -2
"""Why there is no transition: its successor is not written yet or too far away; its last observation is not kept."""

compiled = compiler()


class RingViews(NamedTuple):
    """The arrays of a ring of S slots with R rows in N environments, and what is known about its slots.

    Attributes:
        active: `(S, R)`.
        reward: `(S, R)`.
        terminated: `(S, R)`.
        value_ends: `(S, R)`, where a life was lost, see `Task.value_ends`; or `terminated`.
        truncated: `(S, R)`.
        frames: `(S, N)`.
        age: `(S, R)` uint8, steps since the row's episode began, at most `OLDEST_AGE`.
        final_at: `(R, K)` int64, the positions of the last observations that are kept, each row a ring; -1 if free.
        final_count: `(R,)` int64, how many were written.
        spare: How many of the K oldest are not used, so that a checkpoint still has them a few positions later.
    """

    active: Array
    reward: Array
    terminated: Array
    value_ends: Array
    truncated: Array
    frames: Array
    age: Array
    final_at: Array
    final_count: Array
    spare: int


class RowRange(NamedTuple):
    """Rows first, first + step, first + 2 step, ...

    Attributes:
        step: The distance of two rows.
    """

    first: int
    step: int
    rows: int


class Walk(NamedTuple):
    """How successors are found.

    Attributes:
        steps: n of the n-step return, in decisions.
        longest: Slots after which the search ends.
        gamma: Discount per decision, or per frame.
        per_frame: 1 to discount by gamma^frames.
    """

    steps: int
    longest: int
    gamma: float
    per_frame: int


@compiled
def add(ring: RingViews, position: int, began: Array, kept: Array) -> int:
    """Note that `position` was written; return the number of last observations to keep.

    Args:
        position: The newest position.
        began: `(N,)` bool, environments in which an episode began.
        kept: `(2 R, 3)` int64, written: row, place among the row's last observations, and 0 if the observation is the
            field of last observations, 1 if it is the observation at the position before.
    """
    slots, rows = ring.active.shape
    slot, before = position % slots, (position - 1) % slots
    players = rows // len(began)
    count = 0
    for row in range(rows):
        if began[row // players]:
            ring.age[slot, row] = 0
        else:
            ring.age[slot, row] = min(ring.age[before, row] + 1, OLDEST_AGE)
        played = position > 0 and ring.active[before, row] == PLAYED
        if played and _is_cut(ring, before, row) and find_final(ring, row, position - 1) < 0:
            count = _keep(ring, row, position - 1, 1, kept, count)
        if _is_cut(ring, slot, row):
            count = _keep(ring, row, position, 0, kept, count)
    return count


@compiled
def _is_cut(ring: RingViews, slot: int, row: int) -> bool:
    return bool(ring.truncated[slot, row]) and not ring.terminated[slot, row]


@compiled
def _keep(ring: RingViews, row: int, position: int, source: int, kept: Array, count: int) -> int:
    place = ring.final_count[row] % ring.final_at.shape[1]
    ring.final_at[row, place] = position
    ring.final_count[row] += 1
    kept[count, 0], kept[count, 1], kept[count, 2] = row, place, source
    return count + 1


@compiled
def find_final(ring: RingViews, row: int, position: int) -> int:
    """Return the place of a row's last observation at `position`; -1 if it is not kept."""
    places = int(ring.final_at.shape[1])
    count = int(ring.final_count[row])
    low, high = max(0, count - places + ring.spare), count
    while low < high:
        middle = (low + high) // 2
        if ring.final_at[row, middle % places] < position:
            low = middle + 1
        else:
            high = middle
    if low < count and ring.final_at[row, low % places] == position:
        return low % places
    return -1


@compiled
def transition(ring: RingViews, walk: Walk, head: int, position: int, row: int, numbers: Array) -> int:
    """Find the n-step transition that begins at a position where a row decides; return where its end is.

    Args:
        walk: How to find it.
        head: The number of positions written.
        position: Where it begins.
        numbers: `(4,)` float64, written: the discounted sum of rewards, the discount of the value that follows, the
            position or the place of the observation that follows, and the position where the walk ended.

    Returns:
        `RING`, `FINAL` or `NOTHING`; `UNFINISHED` or `NOT_KEPT` where there is no such transition.
    """
    slots = len(ring.active)
    env = row // (ring.active.shape[1] // ring.frames.shape[1])
    total, discount, frames, decisions = 0.0, 1.0, 0, 0
    for at in range(position + 1, min(head, position + walk.longest + 1)):
        slot = at % slots
        total += discount * ring.reward[slot, row]
        frames += ring.frames[slot, env]
        numbers[0], numbers[3] = total, at
        if ring.terminated[slot, row] or ring.value_ends[slot, row]:
            return NOTHING
        active = ring.active[slot, row]
        ended = ring.truncated[slot, row] != 0
        if active == OUT and not ended:
            return NOTHING
        if ended or active == DECIDES:
            discount *= walk.gamma**frames if walk.per_frame else walk.gamma
            frames = 0
            decisions += 1
        numbers[1] = discount
        if ended:
            place = find_final(ring, row, at)
            numbers[2] = place
            return FINAL if place >= 0 else NOT_KEPT
        if decisions == walk.steps:
            numbers[2] = at
            return RING
    return UNFINISHED


@compiled
def draw_below(state: Array, bound: int) -> int:
    """Return a random number below `bound`, by Lemire's multiplication, whose bias is below bound / 2^32."""
    return int((np.uint64(draw(state, 0) >> np.uint64(32)) * np.uint64(bound)) >> np.uint64(32))


@compiled
def _touch(ring: RingViews, window: Array, which: RowRange, state: Array, count: int) -> int:
    """Read the memory that `draw_uniform` reads for its next draws, so that it is cached; return a sum that is not < 0.

    The places are far apart. Nothing waits for a read here, so the processor fetches several places at once.
    """
    slots, players = len(ring.active), ring.active.shape[1] // ring.frames.shape[1]
    span, ahead, total = window[1] - window[0] + 1, state.copy(), 0
    for _ in range(count):
        number = draw_below(ahead, span * which.rows)
        slot, row = (window[1] - number // which.rows) % slots, which.first + number % which.rows * which.step
        after = (slot + 1) % slots
        total += ring.active[slot, row] + ring.age[slot, row] + ring.active[after, row] + (ring.reward[after, row] > 0)
        total += ring.terminated[after, row] + ring.truncated[after, row] + ring.frames[after, row // players]
    return total


@compiled
def draw_uniform(
    ring: RingViews,
    walk: Walk,
    head: int,
    window: Array,
    which: RowRange,
    state: Array,
    tries: int,
    found: Array,
    numbers: Array,
) -> int:
    """Draw transitions uniformly from those in a window; return how many last observations were not kept, or -1.

    Args:
        walk: How successors are found.
        head: The number of positions written.
        window: First and last position at which a transition may begin.
        which: The rows whose decisions are drawn.
        state: `(1,)` uint64, the random generator.
        tries: After so many draws without a transition, return -1.
        found: `(B, 3)` int64, written: position, row, where the end is.
        numbers: `(B, 4)` float64, written as by `transition`.
    """
    slots = len(ring.active)
    span = window[1] - window[0] + 1
    left, missing = tries, 0
    if _touch(ring, window, which, state, len(found)) < 0:
        return -1
    for index in range(len(found)):
        while True:
            if left == 0:
                return -1
            left -= 1
            number = draw_below(state, span * which.rows)
            # Counted from the newest, a draw does not depend on where in the ring the window is.
            position, row = window[1] - number // which.rows, which.first + number % which.rows * which.step
            if ring.active[position % slots, row] != DECIDES:
                continue
            end = transition(ring, walk, head, position, row, numbers[index])
            if end >= 0:
                break
            missing += end == NOT_KEPT
        left = tries
        found[index, 0], found[index, 1], found[index, 2] = position, row, end
    return missing
