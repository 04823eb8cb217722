"""An array that is saved while it changes: it is copied slice by slice, whenever its writers are idle."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from ...envs.fields import Array

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
        shape: Its shape.
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
