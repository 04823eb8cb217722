"""The ring of slots that environments write, with what is known about them beside the environments' own fields."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ...backends.system.arrays import NamedArrays
from ...backends.system.futex import fence
from ...envs import BadParameter, Task
from ...envs.fields import FINAL_OBSERVATION, Array, Buffers
from .batches import newest_places
from .kernels import RingViews, add
from .settings import ReplaySettings

NEVER = -(2**62)
"""How many positions ago the last observation of a free place was, in a checkpoint."""
SAVED = ("observation", "action_mask", "action", "active", "reward", "terminated", "truncated", "frames")


class ReplayRing:
    """A ring of S slots with R rows. Each observation is stored once, where the environments wrote it.

    Of truncated episodes, a limited number of last observations is kept.

    Args:
        buffer: The ring's arrays.
        settings: How transitions are found.
        memory: From `ReplaySettings.new_memory`; by default, new arrays of this process.
    """

    def __init__(self, task: Task, buffer: Buffers, settings: ReplaySettings, memory: NamedArrays | None) -> None:
        slots, rows = buffer["active"].shape
        self._buffer, self._settings = buffer, settings
        self._slots, self._rows = slots, rows
        self._names = (*SAVED, *filter(None, (task.value_ends,)))
        arrays = settings.new_memory(task, slots, rows) if memory is None else memory
        self._head, self._finals = arrays["head"], arrays["finals"]
        self._ring = RingViews(
            active=buffer["active"],
            reward=buffer["reward"],
            terminated=buffer["terminated"],
            value_ends=buffer[task.value_ends or "terminated"],
            truncated=buffer["truncated"],
            frames=buffer["frames"],
            age=arrays["age"],
            final_at=arrays["final_at"],
            final_count=arrays["final_count"],
            spare=settings.spare,
        )
        self._flat = {name: _flat(buffer[name]) for name in ("observation", "action", "action_mask") if name in buffer}
        self._episode = np.full(buffer["episode"].shape[1], -1, np.int64)
        self._changes = np.zeros((2 * rows, 3), np.int64)

    @property
    def head(self) -> int:
        """The number of positions written."""
        return int(self._head[0])

    @property
    def position(self) -> int:
        return self.head - 1

    @property
    def filled(self) -> float:
        """The share of the ring that is written."""
        return min(1.0, (self.head - self._first) / int(self._slots))

    @property
    def _first(self) -> int:
        """The first usable position: those before it were not restored."""
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

    # For checkpoints.

    @property
    def ring_size(self) -> int:
        """The bytes of what `ring_state` returns."""
        return sum(array.nbytes for array in (*self._saved().values(), self._finals))

    def ring_state(self, head: int) -> dict[str, Array]:
        """Return copies of the newest positions below a head, oldest first, with their last observations.

        Args:
            head: The number of positions written at the end of the last iteration, at most `spare` positions ago.
        """
        first = max(self._first, head - self._slots + self._settings.spare)
        slots = np.arange(first, head) % self._slots
        saved = {name: array[slots] for name, array in self._saved().items()}
        at = self._ring.final_at
        ago = np.where((at >= 0) & (at < head), at - head, NEVER)
        order = np.argsort(ago, axis=1, kind="stable")
        rows = np.arange(self._rows)[:, None]
        return {
            **saved,
            "finals": self._finals[rows, order],
            "final_ago": ago[rows, order],
        }

    def load_ring(self, saved: Mapping[str, Array]) -> int:
        """Put saved positions before the newest one, which the environments have just begun or restored.

        If they could not be restored, the episodes of the saved positions are truncated where they ended.

        Returns:
            What is now the head of `ring_state`.

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
        if not continued:
            self._truncate(head - 1)
        return head

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
        own = {name: self._buffer[name] for name in self._names if name in self._buffer}
        return {**own, "age": self._ring.age}


def _flat(array: Array) -> Array:
    """Return `(S, R, ...)` as rows `(S x R, ...)`, without a copy."""
    return array.reshape(-1, *array.shape[2:])
