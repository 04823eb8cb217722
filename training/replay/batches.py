"""Kernels that find the parts of a batch of drawn transitions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from ...envs.fields import Array
from ...envs.native import compiler
from .kernels import FINAL, NOTHING, RING, RingViews


@dataclass(frozen=True)
class Transitions:
    """A batch of B transitions, copied from the ring. With stacks of k frames, observations have an axis k after B.

    Attributes:
        observations: `(B, *stored_shape)`, as the buffer stores them.
        actions: `(B, ...)`.
        rewards: `(B,)` float32, sums of discounted rewards until the observation that follows.
        discounts: `(B,)` float32, the discount of the value of what follows; 0 where the episode terminated.
        following: `(B, *stored_shape)`, the observations that follow; arbitrary where the discount is 0.
        masks: `(B, bytes)` packed masks of what follows; None if every action is legal. After a truncation, where no
            mask is known, every action counts as legal.
        places: `(B, 2)` int64, position and row.
        densities: `(B,)` float64, the probability of each relative to uniform sampling; None if it was uniform.
        frames: What `observations` and `following` are views of, if they share frames; None otherwise.
    """

    observations: Array
    actions: Array
    rewards: Array
    discounts: Array
    following: Array
    masks: Array | None
    places: Array
    densities: Array | None = None
    frames: Array | None = None


def joined(batches: Sequence[Transitions]) -> Transitions:
    if len(batches) == 1:
        return batches[0]
    names = [item.name for item in fields(Transitions) if item.name != "frames"]
    parts: dict[str, Any] = {name: [getattr(batch, name) for batch in batches] for name in names}
    arrays: dict[str, Any] = {
        name: None if found[0] is None else np.concatenate(found) for name, found in parts.items()
    }
    return Transitions(**arrays)


compiled = compiler()


class BatchPlaces(NamedTuple):
    """Where the parts of B transitions with stacks of k frames and n steps are, as rows `slot * R + row` of the ring.

    Attributes:
        here: `(B,)` int64, where they begin.
        before: `(B, k)` int64, the frames before.
        after: `(B, k)` int64, the frames after; -1 for a last observation.
        frames: `(B, k + n)` int64, the frames of both if those after are those before, shifted by n.
        rewards: `(B,)` float32.
        discounts: `(B,)` float32, 0 where nothing follows.
    """

    here: Array
    before: Array
    after: Array
    frames: Array
    rewards: Array
    discounts: Array

    @classmethod
    def empty(cls, count: int, depth: int, steps: int) -> BatchPlaces:
        """Return arrays for `find_batch` to fill."""
        return cls(
            here=np.empty(count, np.int64),
            before=np.empty((count, depth), np.int64),
            after=np.empty((count, depth), np.int64),
            frames=np.empty((count, depth + steps), np.int64),
            rewards=np.empty(count, np.float32),
            discounts=np.empty(count, np.float32),
        )


@compiled
def stack_places(ring: RingViews, position: int, row: int, last: int, places: Array) -> None:
    """Write which rows `slot * R + row` of the ring are the frames of a stack, oldest first; -1 for a last observation.

    A stack contains no frame of an earlier episode: it repeats the first one instead.

    Args:
        position: The position of the newest frame.
        last: 1 if the newest frame is the last observation of the episode that ended at `position`.
        places: `(k,)` int64, written.
    """
    slots, rows = ring.active.shape
    depth = len(places)
    age = int(ring.age[(position - last) % slots, row]) + last
    for index in range(depth):
        back = min(depth - 1 - index, age)
        places[index] = -1 if last and back == 0 else (position - back) % slots * rows + row


@compiled
def newest_places(ring: RingViews, position: int, places: Array) -> None:
    """Write the frames of all rows' stacks at `position` into `places` `(R, k)`."""
    for row in range(len(places)):
        stack_places(ring, position, row, 0, places[row])


@compiled
def find_batch(ring: RingViews, found: Array, numbers: Array, steps: int, batch: BatchPlaces) -> tuple[bool, int]:
    """Write the parts of drawn transitions.

    Args:
        found: `(B, 3)` from `draw_uniform`.
        numbers: `(B, 4)` from `draw_uniform`.
        steps: n of the n-step return.
        batch: Written. Where nothing follows, the frames after are those before moved by n.

    Returns:
        Whether all frames after are those before, shifted by n, so that k - n of them are the same; and the number of
        transitions that end with a last observation.
    """
    slots, rows = ring.active.shape
    depth, finals = batch.before.shape[1], 0
    moved = steps < depth
    for index in range(len(found)):
        position, row, end = found[index]
        before, after, frames = batch.before[index], batch.after[index], batch.frames[index]
        batch.here[index] = position % slots * rows + row
        batch.rewards[index] = numbers[index, 0]
        batch.discounts[index] = 0.0 if end == NOTHING else numbers[index, 1]
        stack_places(ring, position, row, 0, before)
        if end == NOTHING:
            for frame in range(depth):
                after[frame] = before[min(frame + steps, depth - 1)]
        elif end == RING:
            stack_places(ring, int(numbers[index, 2]), row, 0, after)
        else:
            finals += 1
            stack_places(ring, int(numbers[index, 3]), row, 1, after)
        for frame in range(depth - steps):
            moved = moved and after[frame] == before[frame + steps]
        for frame in range(depth + steps):
            frames[frame] = before[frame] if frame < depth else after[max(0, frame - steps)] if moved else 0
    return bool(moved), finals


@compiled
def find_overwritten(ring: RingViews, found: Array, numbers: Array, oldest: int, depth: int, which: Array) -> int:
    """Write which drawn transitions may have been overwritten since into `which` `(B,)`; return how many.

    Args:
        found: `(B, 3)` from `draw_uniform`.
        numbers: `(B, 4)` from `draw_uniform`.
        oldest: The oldest position that is whole.
        depth: Frames k of a stack.
        which: Written.
    """
    count = 0
    for index in range(len(found)):
        position, row, end = found[index]
        gone = position - (depth - 1) < oldest
        if end == FINAL and ring.final_at[row, int(numbers[index, 2])] != int(numbers[index, 3]):
            gone = True
        if gone:
            which[count] = index
            count += 1
    return count
