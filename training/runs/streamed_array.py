"""An array that is saved while it changes: it is copied slice by slice, whenever its writers are idle.

Writes files in the safetensors format slice by slice: the library would need a copy of every array at once.
"""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from ...envs.fields import Array
from ...envs.safetensors_file import KINDS, LENGTH

SLICE_BYTES = 8 * 2**20
"""Bytes that are copied at once, which takes a few milliseconds, and the size of the copy in memory."""
POLL_SECONDS = 1.0  # s between two checks of the thread that waits for the next slice


class StreamedArray:
    """An array for a checkpoint, too large to be copied at once.

    The training thread copies the slices in order, each while nothing writes to the array; another thread writes them
    to a file. So no row is half written, but later slices contain what was learned since the earlier ones. A small
    array is copied at once.

    Args:
        array: The array. Its memory must stay valid until it is copied or released.
        over: Called in the training thread when the last slice is copied, or the array is released.

    Attributes:
        dtype: Its type.
    """

    def __init__(self, array: Array, over: Callable[[], None] = lambda: None) -> None:
        self.shape, self.dtype = array.shape, array.dtype
        self._bytes: NDArray[np.uint8] = array.reshape(-1).view(np.uint8)
        self._buffer = np.empty(min(SLICE_BYTES, len(self._bytes)), np.uint8)
        self._over = over
        self._at = self._filled = 0
        self._still = False
        self._changed = threading.Condition()
        self.feed()

    @property
    def is_copied(self) -> bool:
        """Whether all slices are copied, so that the array may change."""
        return self._at == len(self._bytes)

    def feed(self) -> None:
        """Copy the next slice if the previous one was taken; nothing may write to the array meanwhile."""
        with self._changed:
            if self._filled or self.is_copied:
                return
            self._filled = min(SLICE_BYTES, len(self._bytes) - self._at)
            self._buffer[: self._filled] = self._bytes[self._at : self._at + self._filled]
            self._at += self._filled
            self._changed.notify()
        if self.is_copied:
            self._over()

    def release(self) -> None:
        """Let the rest be read without a copy, because nothing writes to the array any more."""
        with self._changed:
            if self.is_copied or self._still:
                return
            self._still = True
            self._changed.notify()
        self._over()

    def slices(self) -> Iterator[NDArray[np.uint8]]:
        """Yield the array's bytes, in the thread that saves; a slice is valid until the next one is requested."""
        taken = 0
        while taken < len(self._bytes):
            piece = self._next(taken)
            yield piece
            taken += len(piece)
            with self._changed:
                self._filled = 0

    def _next(self, taken: int) -> NDArray[np.uint8]:
        with self._changed:
            while not self._filled and not self._still:
                self._changed.wait(POLL_SECONDS)
            return self._buffer[: self._filled] if self._filled else self._bytes[taken : taken + SLICE_BYTES]


ALIGNMENT = 8
NAMES = {np.dtype(kind): name for name, kind in KINDS.items()}


def safetensors_chunks(tensors: Mapping[str, Array | StreamedArray]) -> Iterator[bytes | memoryview]:
    """Yield the contents of a file of `tensors`, from its beginning to its end."""
    names = sorted(tensors, key=lambda name: (-tensors[name].dtype.itemsize, name))  # so that all are aligned
    header, end = {}, 0
    for name in names:
        tensor = tensors[name]
        begin, end = end, end + tensor.dtype.itemsize * math.prod(tensor.shape)
        header[name] = {"dtype": NAMES[tensor.dtype], "shape": tensor.shape, "data_offsets": (begin, end)}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % ALIGNMENT)
    yield len(text).to_bytes(LENGTH, "little") + text
    for name in names:
        tensor = tensors[name]
        if isinstance(tensor, StreamedArray):
            yield from (piece.data for piece in tensor.slices())
        else:
            yield tensor.reshape(-1).view(np.uint8).data
