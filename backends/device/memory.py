"""The buffer in the memory of a device: PyTorch tensors, of which only the parts that are read go to the host."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from ...envs import Task
from ...envs.fields import FINAL_OBSERVATION, Array
from ...envs.kernel_tables import TableArray
from ...envs.slots import SlotOrder
from ..core.errors import BackendUnavailable
from ..core.finite import NumberCheck
from ..core.layout import ALIGNMENT, Buffer, DeviceEvent, Fetched, Key, Layout

Transfer = Callable[[Iterable[tuple[Tensor, Tensor]]], DeviceEvent | None]
"""Begins to copy the second tensor of each pair into the first. Returns an event after the copies, or None if done.

The copies come after the work that is already on the device, and before any later work.
"""

SIGNED = {"uint16": "int16", "uint32": "int32", "uint64": "int64"}
"""Types that PyTorch cannot compute with, and the types of the same size that tensors have instead."""
NO_RESERVE = 0x4000
"""Linux's `MAP_NORESERVE`, which Python names only since 3.13."""


def torch_device(name: str) -> torch.device:
    """Return the device that a layout names.

    Raises:
        BackendUnavailable: There is no such GPU.
    """
    device = torch.device("cpu" if name in {"cpu", "apart"} else name)
    if device.type == "cuda":
        count = torch.cuda.device_count()
        if (device.index or 0) >= count:
            raise BackendUnavailable(
                f"there is no GPU {name!r}: PyTorch {torch.__version__} finds {count}; use --device cpu, "
                "or install a driver and a PyTorch with CUDA"
            )
    return device


def transfer_of(device: torch.device) -> Transfer:
    """Return a function that copies from a device in PyTorch's current stream, without waiting."""

    def transfer(pairs: Iterable[tuple[Tensor, Tensor]]) -> DeviceEvent | None:
        for into, source in pairs:
            into.copy_(source, non_blocking=True)
        return torch.cuda.current_stream(device).record_event() if device.type == "cuda" else None

    return transfer


class DeviceMemory(Buffer):
    """The fields of a task as tensors on a device.

    `buffer[name]` is a `DeviceArray`: an index reads from the device, an assignment writes to it, as with an array.

    Attributes:
        tensors: The fields by name, `(slots, rows, *stored_shape)`; of the types in `SIGNED` where these differ.
        host: Arrays of the same shapes, from which kernel tables are made. They are never written, so need no memory.
        transferred: Bytes copied between host and device so far.
    """

    def __init__(self, layout: Layout) -> None:
        self.where = torch_device(layout.device)
        unused = mmap.mmap(-1, layout.size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NO_RESERVE)
        self._base, self._size = np.frombuffer(unused, np.uint8).ctypes.data, layout.size
        self.host = host = layout.over(unused)
        self.transferred = 0
        self._last: dict[str, Array] = {}
        self._raw = self._zeros(layout.size)
        self._kept: dict[int, Tensor] = {}
        self._transfer = transfer_of(self.where)
        self.tensors = {name: self._view(array, layout.offsets[name]) for name, array in host.items()}
        arrays = cast("dict[str, Array]", {name: DeviceArray(self, name, array) for name, array in host.items()})
        order = SlotOrder(layout.slots, ring=layout.ring, rollouts=layout.rollouts)
        super().__init__(arrays, order, layout.num_envs, layout.device)
        self.reset_episodes()

    def _zeros(self, size: int) -> Tensor:
        """Return zeroed bytes on the device, aligned as the blocks of a layout."""
        raw = torch.zeros(size + ALIGNMENT, dtype=torch.uint8, device=self.where)
        start = -raw.data_ptr() % ALIGNMENT
        return raw[start : start + size]

    def _view(self, array: Array, offset: int) -> Tensor:
        dtype = getattr(torch, SIGNED.get(array.dtype.name, array.dtype.name))
        flat = self._raw[offset : offset + array.nbytes]
        return flat.view(dtype).view(array.shape)

    # For kernels.

    def address_of(self, each: TableArray) -> int:
        """Return where an array of a kernel table is on the device; constants of a game are copied there once."""
        address = each.array.ctypes.data
        if self._base <= address < self._base + self._size:
            return self._raw.data_ptr() + address - self._base
        if self.where.type == "cpu":
            return address
        if address not in self._kept:
            flat = np.frombuffer(each.array.tobytes(), np.uint8)
            self._kept[address] = torch.from_numpy(flat.copy()).to(self.where)
            self.transferred += flat.nbytes
        return self._kept[address].data_ptr()

    def block(self, size: int) -> Tensor:
        """Return `size` zeroed bytes on the device, which live as long as the buffer."""
        made = self._zeros(size)
        self._kept[made.data_ptr()] = made
        return made

    def array(self, shape: tuple[int, ...], dtype: torch.dtype, value: int = 0) -> Tensor:
        """Return a tensor on the device, for kernels that get its address."""
        return torch.full(shape, value, dtype=dtype, device=self.where)

    # For the host.

    def read(self, name: str, index: Any) -> Array:
        """Copy a part of a field to the host, and wait for it."""
        dtype = self.host[name].dtype
        if self._last:  # the memory was released, and the session is shown once more
            rest = index[1:] if isinstance(index, tuple) else ()
            return self._last[name][rest]
        found = self.tensors[name][self._index(index)]
        self.transferred += found.numel() * found.element_size()
        array = found.to("cpu", copy=True).numpy().view(dtype)
        return cast("Array", array[()])

    def write(self, name: str, index: Any, values: Any) -> None:
        """Copy values of the host into a part of a field."""
        stored = np.array(values, self.host[name].dtype, order="C")
        part = torch.from_numpy(stored.view(SIGNED.get(stored.dtype.name, stored.dtype.name)))
        self.transferred += stored.nbytes
        self.tensors[name][self._index(index)] = part.to(self.where)

    def fetch(self, parts: Mapping[Key, tuple[str, Any]], computed: Mapping[Key, Any]) -> Fetched:
        """Begin to copy parts of fields, and tensors, into page-locked memory; return at once."""
        sources = {key: self.tensors[name][index] for key, (name, index) in parts.items()} | dict(computed)
        locked = self.where.type == "cuda"
        blocks = {key: torch.empty(each.shape, dtype=each.dtype, pin_memory=locked) for key, each in sources.items()}
        self.transferred += sum(each.nbytes for each in blocks.values())
        event = self._transfer((blocks[key], source) for key, source in sources.items())
        arrays = {key: block.numpy() for key, block in blocks.items()}
        for key, (name, _) in parts.items():
            arrays[key] = arrays[key].view(self.host[name].dtype)
        return Fetched(arrays, event)

    def nan_observations(self, written: slice) -> Tensor:
        """Return which rows observe a NaN, on the device, as `Buffer.nan_observations` does; of all ends of a row."""
        seen, last, *ends = (
            self.tensors[name][written] for name in ("observation", FINAL_OBSERVATION, "terminated", "truncated")
        )
        if not seen.is_floating_point():
            return torch.zeros(seen.shape[1], dtype=torch.bool, device=self.where)
        found: Tensor = (_has_nan(seen) | _has_nan(last) & ((ends[0] | ends[1]) > 0)).any(dim=0)
        return found

    def carry(self) -> None:
        newest, first = self.order.newest, self.order.carried_to
        if newest != first:
            for name, tensor in self.tensors.items():
                if len(tensor) == self.slots and name != FINAL_OBSERVATION:
                    tensor[first].copy_(tensor[newest])
        self.order.carried()

    def reset_episodes(self) -> None:
        self.tensors["episode"].fill_(-1)
        if "state" in self.tensors:
            self.tensors["state"].zero_()

    def release(self) -> None:
        """Release the memory of the device. The newest slot of every field except the states can still be read."""
        newest = {name: self.order.newest if len(tensor) == self.slots else 0 for name, tensor in self.tensors.items()}
        self._last = {name: self.read(name, slot) for name, slot in newest.items() if name != "state"}
        self.tensors.clear()
        self._kept.clear()
        del self._raw

    def _index(self, index: Any) -> Any:
        if isinstance(index, tuple):
            return tuple(self._index(each) for each in index)
        if isinstance(index, (np.ndarray, list)):
            return torch.from_numpy(np.asarray(index)).to(self.where)
        return int(index) if isinstance(index, np.integer) else index


def _has_nan(values: Tensor) -> Tensor:
    """Return which rows of `(steps, rows, ...)` contain a NaN, `(steps, rows)`."""
    bad = values.isnan()
    return bad.flatten(2).any(dim=2) if bad.dim() > 2 else bad


class DeviceArray:
    """A field on a device, read and written in parts like a NumPy array."""

    def __init__(self, memory: DeviceMemory, name: str, array: Array) -> None:
        self._memory, self._name = memory, name
        self.shape, self.dtype, self.ndim, self.strides = array.shape, array.dtype, array.ndim, array.strides
        self.size, self.nbytes = array.size, array.nbytes

    def __len__(self) -> int:
        """Return the number of slots."""
        return int(self.shape[0])

    def __getitem__(self, index: Any) -> Array:
        """Return a copy of a part."""
        return self._memory.read(self._name, index)

    def __setitem__(self, index: Any, values: Any) -> None:
        """Write a part."""
        self._memory.write(self._name, index, values)

    def __iter__(self) -> Iterator[Array]:
        """Yield a copy of each slot."""
        return (self[slot] for slot in range(len(self)))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """Return a copy of all."""
        whole = self[:]
        return whole if dtype is None else whole.astype(dtype)

    def fill(self, value: float) -> None:
        """Write a value everywhere."""
        self._memory.tensors[self._name].fill_(value)

    def tobytes(self) -> bytes:
        """Return the bytes of all."""
        return self[:].tobytes()


class DeviceNumberCheck(NumberCheck):
    """Checks all rewards and floating-point observations of some slots at once, on the device."""

    def __init__(self, task: Task, memory: DeviceMemory) -> None:
        super().__init__(task)
        self._memory = memory
        self._names = [name for name in ("reward", "observation") if memory.tensors[name].is_floating_point()]

    def check_slots(self, written: slice) -> None:
        """Check the results in some slots; waits for them."""
        bad = [self._bad_rows(self._memory.tensors[name][written]) for name in self._names]
        found = torch.stack([each.any() for each in bad]).tolist()
        self._memory.transferred += len(found)
        for name, rows, one in zip(self._names, bad, found, strict=True):
            if one:
                self.count += 1
                self._found = name, int(rows.int().argmax())

    def _bad_rows(self, values: torch.Tensor) -> torch.Tensor:
        """Return `(rows,)`: whether a row of `(steps, rows, ...)` has a number that is not finite."""
        bad = ~torch.isfinite(values)
        return bad.flatten(2).any(dim=2).any(dim=0) if bad.dim() > 2 else bad.any(dim=0)
