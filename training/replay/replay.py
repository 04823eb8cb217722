"""Samples transitions from a ring of slots that environments write."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...backends.system.arrays import ArraySpec, NamedArrays
from ...backends.system.futex import fence
from ...envs import BadParameter, PacError, Task
from ...envs.fields import FINAL_OBSERVATION, Array, Buffers
from ...envs.task import MASK_64
from .kernels import (
    FINAL,
    NOTHING,
    RingViews,
    RowRange,
    Walk,
    add,
    batch_places,
    draw_uniform,
    newest_places,
)
from .priorities import Priorities, PrioritySettings

MARGIN = 2
"""Positions at the newest end that no transition begins at: a person can still take over at the newest position."""
LONGEST = 1024
"""Slots after which the search for a successor ends, at most; a seat that waits longer is not learned from."""
FINAL_SHARE = 1 / 32
"""Last observations of truncated episodes that are kept, as a share of the ring."""
LEAST_FINALS = 4
TRIES = 100_000
CACHED = 16
"""Transitions whose stacks of frames are gathered together."""
SAVED = ("observation", "action_mask", "action", "active", "reward", "terminated", "truncated", "frames")


class NothingToSample(PacError):
    """The replay contains no transition."""

    title = "Nothing to learn from"


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
    """

    observations: Array
    actions: Array
    rewards: Array
    discounts: Array
    following: Array
    masks: Array | None
    places: Array
    densities: Array | None = None


@dataclass(frozen=True)
class ReplaySettings:
    """How transitions are found.

    Attributes:
        capacity: Transitions to keep, at least.
        steps: n of the n-step return, in decisions.
        stack: Frames k of an observation.
        gamma: Discount per decision, or per frame.
        gamma_per_frame: Whether to discount by gamma^frames.
        spare: Positions that may be written between the end of an iteration and the saving of its state.
        priorities: How transitions are drawn by their errors; None draws them uniformly.
    """

    capacity: int
    steps: int = 1
    stack: int = 1
    gamma: float = 0.99
    gamma_per_frame: bool = False
    spare: int = 0
    priorities: PrioritySettings | None = None

    def slots(self, rows: int) -> int:
        """Return how many slots a ring with `rows` rows needs.

        Raises:
            BadParameter: The capacity is too small for transitions of n steps and stacks of k frames.
        """
        beside = self.steps + self.stack + MARGIN
        if self.capacity < rows * beside:
            raise BadParameter(
                f"the replay must keep at least {rows * beside:,} transitions of {rows} rows, got {self.capacity:,}"
            )
        return math.ceil(self.capacity / rows) + beside + self.spare

    def specs(self, task: Task, slots: int, rows: int) -> dict[str, ArraySpec]:
        """Return the arrays that a replay of S slots and R rows needs beside the ring.

        Returns:
            `head` (2,), the number of positions written and the first one of use; the arrays of `RingViews` that are
            not in the ring; and `finals`, the last observations.
        """
        kept = max(LEAST_FINALS, math.ceil(slots * FINAL_SHARE)) + self.spare
        return {
            "head": ArraySpec((2,), "int64"),
            "age": ArraySpec((slots, rows), "uint8"),
            "final_at": ArraySpec((rows, kept), "int64"),
            "final_count": ArraySpec((rows,), "int64"),
            "finals": ArraySpec((rows, kept, *task.observation.stored_shape), task.observation.dtype),
        }

    def new_memory(self, task: Task, slots: int, rows: int, *, shared: bool = False) -> NamedArrays:
        """Return the arrays of `specs` for a new replay, in shared memory on request.

        Raises:
            SharedMemoryFull: They do not fit there.
        """
        specs = self.specs(task, slots, rows)
        arrays = NamedArrays.create(specs, "replay") if shared else NamedArrays(specs)
        arrays["final_at"].fill(-1)
        return arrays


def joined(batches: Sequence[Transitions]) -> Transitions:
    """Return several batches as one."""
    if len(batches) == 1:
        return batches[0]
    names = [item.name for item in fields(Transitions)]
    parts: dict[str, Any] = {name: [getattr(batch, name) for batch in batches] for name in names}
    arrays: dict[str, Any] = {
        name: None if found[0] is None else np.concatenate(found) for name, found in parts.items()
    }
    return Transitions(**arrays)


class ReplayMark(NamedTuple):
    """A replay at the end of an iteration.

    Attributes:
        head: The number of positions written.
        priorities: Those of all places, see `Priorities.state`; empty if sampling is uniform.
    """

    head: int
    priorities: Mapping[str, Array]


class Replay:
    """Transitions in a ring of S slots with R rows. Each observation is stored once, where the environments wrote it.

    A transition is a decision, its rewards until the row's n-th next decision, and the observation there. Where an
    episode was truncated, what follows is its last observation, of which a limited number is kept.

    One process calls `add`. Others can sample at the same time, from the same ring and the same `memory`: nobody takes
    a lock or waits, and what was overwritten during a draw is drawn again.

    Args:
        task: The task.
        buffer: The ring's arrays.
        settings: How transitions are found.
        seed: Seeds the drawing.
        memory: From `ReplaySettings.new_memory`; by default, new arrays of this process.
        seat: The seat whose decisions are sampled; by default, those of all.

    Attributes:
        missing: How many drawn transitions could not be used because a last observation was no longer kept.
        overwritten: How many were drawn again because the environments wrote into them meanwhile.
    """

    def __init__(
        self,
        task: Task,
        buffer: Buffers,
        settings: ReplaySettings,
        seed: int,
        *,
        memory: NamedArrays | None = None,
        seat: int | None = None,
    ) -> None:
        slots, rows = buffer["active"].shape
        self.missing = self.overwritten = 0
        self._task, self._buffer, self._settings = task, buffer, settings
        self._slots, self._rows = slots, rows
        arrays = settings.new_memory(task, slots, rows) if memory is None else memory
        self._head, self._finals = arrays["head"], arrays["finals"]
        self._ring = RingViews(
            active=buffer["active"],
            reward=buffer["reward"],
            terminated=buffer["terminated"],
            truncated=buffer["truncated"],
            frames=buffer["frames"],
            age=arrays["age"],
            final_at=arrays["final_at"],
            final_count=arrays["final_count"],
            spare=settings.spare,
        )
        players = task.players
        self._range = RowRange(0, 1, rows) if seat is None else RowRange(seat, players, rows // players)
        self._priorities = (
            None if settings.priorities is None else Priorities(self._ring, self._range, settings.priorities)
        )
        longest = min(LONGEST, slots - 1)
        self._walk = Walk(settings.steps, longest, settings.gamma, int(settings.gamma_per_frame))
        self._flat = {name: _flat(buffer[name]) for name in ("observation", "action", "action_mask") if name in buffer}
        self._random = np.array([seed & MASK_64], np.uint64)
        self._episode = np.full(buffer["episode"].shape[1], -1, np.int64)
        self._changes = np.zeros((2 * rows, 3), np.int64)
        self._window = np.zeros(2, np.int64)
        self._sampled: NDArray[np.int64] = np.zeros(0, np.int64)

    @property
    def head(self) -> int:
        """The number of positions written."""
        return int(self._head[0])

    @property
    def position(self) -> int:
        """The newest position."""
        return self.head - 1

    @property
    def filled(self) -> float:
        """The share of the ring that is written."""
        return min(1.0, self.head / int(self._slots))

    @property
    def sample_age(self) -> float:
        """How many positions ago the transitions of the last sample began, a mean; NaN if there is none yet."""
        return self.head - float(self._sampled.mean()) if len(self._sampled) else math.nan

    @property
    def _first(self) -> int:
        """The first position of use: what is before it was not restored."""
        return int(self._head[1])

    def add(self) -> None:
        """Note that the environments have written the next slot. Call it after each start and step."""
        episode = self._buffer["episode"][0]
        began = episode != self._episode
        self._episode[:] = episode
        count = add(self._ring, self.head, began, self._changes)
        slot, before = self.head % self._slots, (self.head - 1) % self._slots
        if count:
            fence()  # a reader notices that an observation is another one before it changes
        for row, place, source in self._changes[:count]:
            name, at = ("observation", before) if source else (FINAL_OBSERVATION, slot)
            self._finals[row, place] = self._buffer[name][at, row]
        fence()  # whoever sees the new head also sees what is below it
        self._head[0] += 1

    @property
    def window(self) -> tuple[int, int]:
        """First and last position at which a transition may begin; empty if the last one is smaller."""
        return self._window_at(self.head)

    def _window_at(self, head: int) -> tuple[int, int]:
        newest = head - MARGIN - self._settings.steps
        oldest = head - self._slots + self._settings.stack + self._settings.spare
        return max(self._first, oldest), newest

    def sample(self, count: int) -> Transitions:
        """Return `count` transitions, drawn with replacement, uniformly or by priority.

        Raises:
            NothingToSample: There is none.
        """
        found, numbers = np.empty((count, 3), np.int64), np.empty((count, 4), np.float64)
        densities = None if self._priorities is None else np.empty(count)
        stale = np.arange(count)
        while len(stale):
            some, their = np.empty((len(stale), 3), np.int64), np.empty((len(stale), 4), np.float64)
            how_likely = self._draw(some, their)
            found[stale], numbers[stale] = some, their
            if densities is not None:
                densities[stale] = how_likely
            batch = self.gather(found, numbers, densities)
            fence()
            stale = self._stale(found, numbers)
            self.overwritten += len(stale)
        self._sampled = found[:, 0]
        return batch

    def _draw(self, found: Array, numbers: Array) -> Array:
        """Draw transitions below the present head into `found` and `numbers`, see `draw_uniform`.

        Returns:
            `(B,)`, their probabilities relative to uniform sampling.
        """
        head = self.head
        fence()
        self._window[:] = self._window_at(head)
        missing, densities = -1, np.ones(len(found))
        if self._window[1] < self._window[0]:
            pass
        elif self._priorities is None:
            missing = draw_uniform(
                self._ring, self._walk, head, self._window, self._range, self._random, TRIES, found, numbers
            )
        else:
            missing = self._priorities.draw(
                self._walk,
                head,
                self._window,
                state=self._random,
                tries=TRIES,
                found=found,
                numbers=numbers,
                densities=densities,
            )
        if missing < 0:
            raise NothingToSample("the replay contains no transition that can be sampled; collect more decisions first")
        self.missing += missing
        return densities

    def learn_priorities(self, batch: Transitions, errors: Array) -> None:
        """Draw transitions of a batch more or less often, by their errors `(B,)`; nothing if sampling is uniform."""
        if self._priorities is not None:
            self._priorities.learn(batch.places, errors)

    def _stale(self, found: Array, numbers: Array) -> Array:
        """Return which drawn transitions may have been overwritten since, as indices."""
        oldest = self.head - self._slots + 1  # the slot of the position before is being written
        stale = found[:, 0] - (self._settings.stack - 1) < oldest
        (truncated,) = np.nonzero(found[:, 2] == FINAL)
        if not len(truncated):
            return np.flatnonzero(stale)
        rows, at = found[truncated, 1], numbers[truncated, 2].astype(np.int64)
        stale[truncated] |= self._ring.final_at[rows, at] != numbers[truncated, 3]
        return np.flatnonzero(stale)

    def gather(self, found: Array, numbers: Array, densities: Array | None = None) -> Transitions:
        """Return the transitions that the kernels found."""
        count, depth = len(found), self._settings.stack
        places, following = np.empty((count, depth), np.int64), np.empty((count, depth), np.int64)
        batch_places(self._ring, found, numbers, places, following)
        truncated = np.flatnonzero(found[:, 2] == FINAL)
        here = found[:, 0] % self._slots * self._rows + found[:, 1]
        frames, next_frames = self._pairs_of_frames(places, following)
        if len(truncated):
            rows, at = found[truncated, 1], numbers[truncated, 2].astype(np.int64)
            self._put_finals(next_frames, following, truncated, self._finals[rows, at])
        masks = None
        if self._task.masked:
            masks = self._flat["action_mask"].take(following[:, -1], axis=0, mode="wrap")
            masks[truncated] = 0xFF
        return Transitions(
            observations=frames,
            actions=self._flat["action"].take(here, axis=0, mode="wrap"),
            rewards=numbers[:, 0].astype(np.float32),
            discounts=np.where(found[:, 2] == NOTHING, 0.0, numbers[:, 1]).astype(np.float32),
            following=next_frames,
            masks=masks,
            places=found[:, :2],
            densities=densities,
        )

    def newest(self) -> Array:
        """Return the newest observations of all rows, `(R, *stored_shape)` or `(R, k, *stored_shape)`."""
        if self._settings.stack == 1:
            newest: Array = self._buffer["observation"][self.position % self._slots]
            return newest
        places = np.empty((self._rows, self._settings.stack), np.int64)
        newest_places(self._ring, self.position, places)
        return self._frames(places)

    def _frames(self, places: NDArray[np.int64]) -> Array:
        """Return the observations at places `(n, k)`: without the axis k if it is 1."""
        stored = self._flat["observation"]
        if self._settings.stack == 1:
            return stored.take(places[:, 0], axis=0, mode="wrap")
        return stored.take(places, axis=0, mode="wrap")

    def _pairs_of_frames(self, places: NDArray[np.int64], following: NDArray[np.int64]) -> tuple[Array, Array]:
        """Return the observations at two places each; most frames of two stacks are the same and stay in the cache."""
        if self._settings.stack == 1:
            return self._frames(places), self._frames(following)
        stored = self._flat["observation"]
        before = np.empty((*places.shape, *stored.shape[1:]), stored.dtype)
        after = np.empty_like(before)
        for first in range(0, len(places), CACHED):
            some = slice(first, first + CACHED)
            stored.take(places[some], axis=0, mode="wrap", out=before[some])
            stored.take(following[some], axis=0, mode="wrap", out=after[some])
        return before, after

    def _put_finals(self, frames: Array, places: Array, which: Array, finals: Array) -> None:
        if self._settings.stack == 1:
            frames[which] = finals
            return
        index, depth = np.nonzero(places[which] < 0)
        frames[which[index], depth] = finals[index]

    # For checkpoints.

    def generator(self) -> Array:
        """Return a copy of the random generator's state, `(1,)`."""
        return self._random.copy()

    def set_generator(self, state: Array) -> None:
        """Continue drawing from a state."""
        self._random[:] = state

    def size(self) -> int:
        """Return the bytes of what `state` returns."""
        priorities = 0 if self._priorities is None else self._priorities.leaves.nbytes
        return priorities + sum(array.nbytes for array in (*self._saved().values(), self._finals))

    def mark(self) -> ReplayMark:
        """Return what `state` needs of the end of an iteration."""
        head = self.head
        return ReplayMark(head, {} if self._priorities is None else self._priorities.state(head))

    def state(self, mark: ReplayMark) -> dict[str, Array]:
        """Return copies of the newest positions below the mark's head, oldest first, with their last observations.

        Args:
            mark: From the end of the last iteration, at most `spare` positions ago.
        """
        head, priorities = mark
        first = max(self._first, head - self._slots + self._settings.spare)
        slots = np.arange(first, head) % self._slots
        saved = {name: array[slots] for name, array in self._saved().items()}
        at = np.where(self._ring.final_at < head, self._ring.final_at, -1)
        order = np.argsort(at, axis=1)
        rows = np.arange(self._rows)[:, None]
        return {
            **saved,
            "finals": self._finals[rows, order],
            "final_ago": (at - head)[rows, order],
            **priorities,
        }

    def load_state(self, saved: Mapping[str, Array]) -> int:
        """Put saved positions before the newest one, which the environments have just begun or restored.

        If they could not be restored, the episodes of the saved positions are truncated where they ended.

        Returns:
            What is now the head of `state`.

        Raises:
            BadParameter: They do not fit, for instance because N is another one.
        """
        arrays = self._saved()
        for name, array in arrays.items():
            if name not in saved or saved[name].shape[1:] != array.shape[1:] or saved[name].dtype != array.dtype:
                raise BadParameter(f"the saved replay does not fit, because {name} has another shape")
        newest = self.position % self._slots
        length = len(saved["active"])
        continued = np.array_equal(saved["observation"][-1], self._buffer["observation"][newest])
        end = newest + (0 if continued else -1)
        count = min(length, self._slots - (0 if continued else 1))
        slots = (end - np.arange(count)) % self._slots
        for name, array in arrays.items():
            array[slots] = saved[name][::-1][:count]
        # The newest position keeps its slot: its number is raised by a multiple of S.
        self._head[0] = newest + self._slots * math.ceil((count + 1) / self._slots) + 1
        head = self.head if continued else self.head - 1
        self._head[1] = head - count
        self._restore_finals(saved, head)
        self.load_priorities(saved, head)
        if not continued:
            self._truncate(head - 1)
        return head

    def load_priorities(self, saved: Mapping[str, Array], head: int) -> None:
        """Continue from the priorities of a state whose head is now `head`; without any, all become equal."""
        if self._priorities is not None:
            self._priorities.load_state(saved, head)

    def _restore_finals(self, saved: Mapping[str, Array], head: int) -> None:
        kept = min(self._finals.shape[1], saved["finals"].shape[1])
        self._finals[:, :kept] = saved["finals"][:, -kept:]
        at = saved["final_ago"][:, -kept:] + head
        self._ring.final_at[:, :kept] = np.where(at >= self._first, at, -1)
        self._ring.final_count[:] = kept

    def _truncate(self, position: int) -> None:
        """Truncate the episodes of all rows at a position, whose observation is then the last one."""
        slot = position % self._slots
        for row in range(self._rows):
            if not self._ring.terminated[slot, row] and not self._ring.truncated[slot, row]:
                self._ring.truncated[slot, row] = 1
                place = self._ring.final_count[row] % self._finals.shape[1]
                self._finals[row, place] = self._buffer["observation"][slot, row]
                self._ring.final_at[row, place] = position
                self._ring.final_count[row] += 1

    def _saved(self) -> dict[str, Array]:
        own = {name: self._buffer[name] for name in SAVED if name in self._buffer}
        return {**own, "age": self._ring.age}


def _flat(array: Array) -> Array:
    """Return `(S, R, ...)` as rows `(S x R, ...)`, without a copy."""
    return array.reshape(-1, *array.shape[2:])
