"""Samples transitions from a ring of slots that environments write."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...backends.system.arrays import NamedArrays
from ...backends.system.futex import fence
from ...envs import PacError, Task
from ...envs.fields import Array, Buffers
from ...envs.task import MASK_64
from ...envs.unknown import UNKNOWN
from .batches import BatchPlaces, Transitions, find_batch, find_overwritten
from .kernels import FINAL, RowRange, Walk, draw_uniform
from .priorities import Priorities
from .ring import ReplayRing
from .settings import MARGIN, ReplaySettings

LONGEST = 1024
"""Slots after which the search for a successor ends, at most; a seat that waits longer is not learned from."""
TRIES = 100_000


class NothingToSample(PacError):
    """The replay contains no transition."""

    title = "Nothing to learn from"


class ReplayMark(NamedTuple):
    """A replay at the end of an iteration.

    Attributes:
        head: The number of positions written.
        priorities: Those of all places, see `Priorities.state`; empty if sampling is uniform.
    """

    head: int
    priorities: Mapping[str, Array]


class Replay(ReplayRing):
    """Transitions in a ring of S slots with R rows.

    A transition is a decision, its rewards until the row's n-th next decision, and the observation there. Where an
    episode was truncated, what follows is its last observation.

    One process calls `add`. Others can sample at the same time, from the same ring and the same `memory`: nobody takes
    a lock or waits, and what was overwritten during a draw is drawn again.

    Args:
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
        super().__init__(task, buffer, settings, memory)
        self.missing = self.overwritten = 0
        self._task = task
        players, rows = task.players, self._rows
        self._range = RowRange(0, 1, rows) if seat is None else RowRange(seat, players, rows // players)
        self._priorities = (
            None if settings.priorities is None else Priorities(self._ring, self._range, settings.priorities)
        )
        longest = min(LONGEST, self._slots - 1)
        self._walk = Walk(settings.steps, longest, settings.gamma, int(settings.gamma_per_frame))
        self._random = np.array([seed & MASK_64], np.uint64)
        self._window = np.zeros(2, np.int64)
        self._sampled: NDArray[np.int64] = np.zeros(0, np.int64)

    def change_gamma(self, gamma: float) -> None:
        """Discount rewards by another factor from the next transitions on that are drawn."""
        self._walk = self._walk._replace(gamma=gamma)

    @property
    def sample_age(self) -> float:
        """How many positions ago the transitions of the last sample began, a mean; unknown if there is none yet."""
        return self.head - float(self._sampled.mean()) if len(self._sampled) else UNKNOWN

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
        densities = self._draw(found, numbers)
        while True:
            batch = self.gather(found, numbers, densities)
            fence()
            stale = self._stale(found, numbers)
            if not len(stale):
                break
            self.overwritten += len(stale)
            some, their = np.empty((len(stale), 3), np.int64), np.empty((len(stale), 4), np.float64)
            how_likely = self._draw(some, their)
            found[stale], numbers[stale] = some, their
            if densities is not None:
                densities[stale] = how_likely
        self._sampled = found[:, 0]
        return batch

    def _draw(self, found: Array, numbers: Array) -> Array | None:
        """Draw transitions below the present head into `found` and `numbers`, see `draw_uniform`.

        Returns:
            `(B,)`, their probabilities relative to uniform sampling; None if it is uniform.
        """
        head = self.head
        fence()
        self._window[:] = self._window_at(head)
        missing, densities = -1, None
        if self._window[1] < self._window[0]:
            pass
        elif self._priorities is None:
            missing = draw_uniform(
                self._ring, self._walk, head, self._window, self._range, self._random, TRIES, found, numbers
            )
        else:
            densities = np.ones(len(found))
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
        which = np.empty(len(found), np.int64)
        return which[: find_overwritten(self._ring, found, numbers, oldest, self._settings.stack, which)]

    def gather(self, found: Array, numbers: Array, densities: Array | None = None) -> Transitions:
        places = BatchPlaces.empty(len(found), self._settings.stack, self._settings.steps)
        moved, finals = find_batch(self._ring, found, numbers, self._settings.steps, places)
        before, after, frames = self._stacks(places, moved=moved)
        masks = None
        if self._task.masked:
            masks = self._flat["action_mask"].take(places.after[:, -1], axis=0, mode="wrap")
        if finals:
            truncated = np.flatnonzero(found[:, 2] == FINAL)
            rows, at = found[truncated, 1], numbers[truncated, 2].astype(np.int64)
            self._put_finals(after, places.after, truncated, self._finals[rows, at])
            if masks is not None:
                masks[truncated] = 0xFF
        return Transitions(
            observations=before,
            actions=self._flat["action"].take(places.here, axis=0, mode="wrap"),
            rewards=places.rewards,
            discounts=places.discounts,
            following=after,
            masks=masks,
            places=found[:, :2],
            densities=densities,
            frames=frames,
        )

    def _stacks(self, places: BatchPlaces, *, moved: bool) -> tuple[Array, Array, Array | None]:
        """Return the observations before and after.

        If those after are those before, shifted by n, both are views of k + n frames per transition, which are returned
        too: `(B, k + n, *stored_shape)`.
        """
        if not moved:
            return self._frames(places.before), self._frames(places.after), None
        frames = self._frames(places.frames)
        return frames[:, : self._settings.stack], frames[:, self._settings.steps :], frames

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
        return self.ring_size + (0 if self._priorities is None else self._priorities.leaves.nbytes)

    def mark(self) -> ReplayMark:
        """Return what `state` needs of the end of an iteration."""
        head = self.head
        return ReplayMark(head, {} if self._priorities is None else self._priorities.state(head))

    def state(self, mark: ReplayMark) -> dict[str, Array]:
        """Return copies of the newest positions of an earlier `mark`, with their last observations and priorities."""
        return {**self.ring_state(mark.head), **mark.priorities}

    def load_state(self, saved: Mapping[str, Array]) -> int:
        """Continue from what `state` returned, see `load_ring`."""
        head = self.load_ring(saved)
        self.load_priorities(saved, head)
        return head

    def load_priorities(self, saved: Mapping[str, Array], head: int) -> None:
        """Continue from the priorities of a state whose head is now `head`; without any, all become equal."""
        if self._priorities is not None:
            self._priorities.load_state(saved, head)
