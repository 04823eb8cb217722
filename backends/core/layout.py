"""The buffer's memory layout: one contiguous, 64-byte aligned block per field, after a control block."""

from __future__ import annotations

import math
import mmap
import re
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ...envs import BadParameter, Task
from ...envs.fields import FINAL_OBSERVATION, Array
from ...envs.slots import SlotOrder
from ...envs.task import LAST_DRAWN, LOOKED_AT
from .errors import LayoutMismatch

Key = tuple[str | int, str]
"""A group of arrays, and the name in it."""


class DeviceEvent(Protocol):
    """A point in the work of a device, such as `torch.cuda.Event`."""

    def query(self) -> bool:
        """Return whether the device is past it; never waits."""

    def synchronize(self) -> None:
        """Wait until the device is past it."""


@dataclass(frozen=True)
class Fetched:
    """Arrays that are being copied from a device.

    Attributes:
        arrays: The arrays, undefined until they have arrived. Those of a buffer on the host are views.
        event: Recorded after the copies; None if the arrays were there from the start.
    """

    arrays: Mapping[Key, Any]
    event: DeviceEvent | None = None

    def has_arrived(self, *, wait: bool = False) -> bool:
        """Return whether the arrays have arrived, after waiting for them if `wait`."""
        if wait and self.event is not None:
            self.event.synchronize()
        return self.event is None or self.event.query()


ALIGNMENT = 64
MAGIC = 0x50414354
VERSION = 2
DEVICES = ("cpu", "cuda", "cuda:K")
APART = "apart"
"""A device for tests: separate memory on the CPU, which the host accesses as it would the memory of a GPU."""
HEADER = struct.Struct("<8IQ")
"""magic, version, num_envs, obs_size, act_size, slots, players, checksum of the fields, size in bytes."""


class Buffer(dict[str, Array]):
    """The arrays of a task's fields by name, `(S, rows, *stored_shape)`; untimed fields have S = 1.

    Attributes:
        slots: Number of slots S of the timed fields.
        num_envs: Number of environments N.
        device: Where the arrays are: `cpu`, or a GPU.
        order: Which slots were written, and which follow.
        tensors: The fields as tensors of PyTorch by name, if they are on a device that is not `cpu`; else None.
    """

    tensors: Any = None

    def __init__(self, arrays: dict[str, Array], order: SlotOrder, num_envs: int, device: str = "cpu") -> None:
        super().__init__(arrays)
        self.slots = order.slots
        self.num_envs = num_envs
        self.device = device
        self.order = order

    def rows_of(self, name: str, slot: int, lo: int, hi: int) -> Array:
        """Return the rows of environments `lo..hi` in a slot of a field, or its only row, which is of all of them.

        An untimed field has one slot for all.
        """
        array = self[name]
        block: Array = array[slot % len(array)]
        per_env = len(block) // self.num_envs
        return block[lo * per_env : hi * per_env] if per_env else block

    def carry(self) -> None:
        """Copy the newest slot of the timed fields to the first slot of the next rollout."""
        newest, first = self.order.newest, self.order.carried_to
        if newest != first:
            for array in self.values():
                if len(array) == self.slots and array.strides[0]:
                    array[first] = array[newest]
        self.order.carried()

    def fetch(self, parts: Mapping[Key, tuple[str, Any]], computed: Mapping[Key, Any]) -> Fetched:
        """Begin to copy parts of fields to the host; return at once.

        Args:
            parts: For each part, a key, the name of the field and an index: a number, a slice or both.
            computed: Results that were computed from the fields on their device, by key.
        """
        return Fetched({key: self[name][index] for key, (name, index) in parts.items()} | dict(computed))

    def nan_observations(self, written: slice) -> Any:
        """Return which rows observe a NaN in some slots, or at the end of an episode there, `(rows,)` bool.

        If several episodes of a row ended there, the newest counts. The result is on the device of the fields.
        """
        found = np.zeros(self["observation"].shape[1], np.bool_)
        if self["observation"].dtype.kind == "f":
            found[nan_rows(self["observation"][written])] = True
            steps, rows = (self["terminated"][written] | self["truncated"][written]).nonzero()
            if len(rows):
                last = self[FINAL_OBSERVATION][written.start + steps, rows]
                found[rows[nan_rows(last[None])]] = True
        return found

    def boards_requested(self) -> bytes:
        """Return one byte per environment, 1 if it should draw its boards; for tasks that draw only on request."""
        wanted: Array = (self[LOOKED_AT][0] != 0) | (self[LAST_DRAWN][0] != 0)
        return wanted.tobytes()

    def reset_episodes(self) -> None:
        """Set the episode counts to -1 and the states to 0, as before the first episode."""
        self["episode"].fill(-1)
        if "state" in self:
            self["state"].fill(0)


def nan_rows(written: Array) -> NDArray[np.intp]:
    """Return the rows of `(steps, rows, ...)` that contain a NaN. If there is none, this takes one pass."""
    flat = written.reshape(-1)
    if written.dtype.kind != "f" or not math.isnan(flat.dot(flat)):  # squares add up to infinity at worst
        return np.zeros(0, np.intp)
    found = np.isnan(written).reshape(*written.shape[:2], -1).any(axis=(0, 2))
    return np.flatnonzero(found)


class Layout:
    """The offsets of a task's fields for `num_envs` environments and `slots` time steps.

    `final_observation` has one slot, which its array shows as every slot: only those of the newest step are kept. A
    learner that needs older ones copies them after each step; there are few. On a device other than `cpu`, all slots
    are kept, because the host does not know after a step which rows were written.

    Attributes:
        num_envs: Number of environments N.
        slots: Number of slots S of the timed fields.
        device: Where the arrays are.
        ring: Whether slot 0 follows slot S - 1.
        rollouts: Number of rollouts that the slots hold, see `SlotOrder`.
        offsets: Byte offset of every field.
        size: Bytes in all, the control block included.
    """

    def __init__(
        self, task: Task, num_envs: int, slots: int = 1, device: str = "cpu", *, ring: bool = False, rollouts: int = 1
    ) -> None:
        if device not in {*DEVICES, APART} and not re.fullmatch(r"cuda:\d+", device):
            raise BadParameter(
                f"environments cannot write into memory of the device {device!r}; use {', '.join(DEVICES)}, "
                "the policy may be on another device"
            )
        self.task = task
        self.device = device
        self.num_envs = num_envs
        self.slots = slots
        self.ring, self.rollouts = ring, rollouts
        self.offsets: dict[str, int] = {}
        self._shapes: dict[str, tuple[int, ...]] = {}
        end = ALIGNMENT
        for item in task.fields:
            kept = 1 if item.name == FINAL_OBSERVATION and device == "cpu" else slots
            self._shapes[item.name] = shape = item.block_shape(kept, num_envs, task.players)
            self.offsets[item.name] = end
            end += prod(shape) * np.dtype(item.dtype).itemsize
            end += -end % ALIGNMENT
        self.size = end

    def stamp(self, memory: mmap.mmap | NDArray[np.uint8]) -> None:
        """Write the control block into zeroed memory, and set the episode counts to -1."""
        memoryview(memory)[: HEADER.size] = self._header()  # type: ignore[arg-type]
        self.over(memory).reset_episodes()

    def check(self, memory: mmap.mmap | NDArray[np.uint8]) -> None:
        """Check that `memory` was stamped for the same layout.

        Raises:
            LayoutMismatch: Its magic number, version, size or fields differ.
        """
        if len(memory) < HEADER.size:
            raise LayoutMismatch(f"expected a control block of {HEADER.size} bytes, the segment has {len(memory)}")
        found, wanted = HEADER.unpack_from(memory), HEADER.unpack(self._header())  # type: ignore[arg-type]
        names = ("magic", "version", "num_envs", "obs_size", "act_size", "slots", "players", "fields", "size")
        for name, have, want in zip(names, found, wanted, strict=True):
            if have != want:
                raise LayoutMismatch(
                    f"the segment's {name} is {have:#x}, expected {want:#x}: its task, size or version differs"
                )
        if len(memory) < self.size:
            raise LayoutMismatch(f"expected a segment of {self.size} bytes, got {len(memory)}")

    def map(self, memory: mmap.mmap | NDArray[np.uint8] | None = None) -> Buffer:
        """Return the arrays, in a stamped segment or in new memory of this process.

        Raises:
            LayoutMismatch: The segment is not one of this layout.
        """
        if memory is None:
            return self.over(self.allocate())
        self.check(memory)
        return self.over(memory)

    def allocate(self) -> NDArray[np.uint8]:
        """Return new stamped memory of this process for `map`, `(size,)`."""
        raw = np.zeros(self.size + ALIGNMENT, np.uint8)
        start = -raw.ctypes.data % ALIGNMENT
        memory = raw[start : start + self.size]
        self.stamp(memory)
        return memory

    def over(self, memory: mmap.mmap | NDArray[np.uint8]) -> Buffer:
        """Return the arrays in memory that need not be stamped."""
        arrays = {}
        for item in self.task.fields:
            shape = self._shapes[item.name]
            flat: Array = np.frombuffer(memory, np.dtype(item.dtype), prod(shape), self.offsets[item.name])
            arrays[item.name] = flat.reshape(shape)
        if self.device == "cpu":
            arrays[FINAL_OBSERVATION] = _in_every_slot(arrays[FINAL_OBSERVATION], self.slots)
        order = SlotOrder(self.slots, ring=self.ring, rollouts=self.rollouts)
        return Buffer(arrays, order, self.num_envs, self.device)

    def _header(self) -> bytes:
        task = self.task
        fields = zlib.crc32(repr([(item.name, item.dtype, self._shapes[item.name]) for item in task.fields]).encode())
        sizes = (self.num_envs, prod(task.observation.shape), task.num_actions, self.slots, task.players)
        return HEADER.pack(MAGIC, VERSION, *sizes, fields, self.size)


def _in_every_slot(array: Array, slots: int) -> Array:
    """Return a writable view `(slots, ...)` of an array of one slot, in which every slot is that one."""
    return np.lib.stride_tricks.as_strided(array, (slots, *array.shape[1:]), (0, *array.strides[1:]))
