"""Writes checkpoints in a thread: the training only makes copies, the thread hashes, flushes and renames.

An array that is too large to copy is a `StreamedArray`, which the training thread passes on slice by slice.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from ...envs.entries import Place
from .checkpoint import CheckpointNotWritten, save
from .streamed_array import StreamedArray

OnWritten = Callable[[int, CheckpointNotWritten | None], None]


class CheckpointWriter:
    """Writes one checkpoint at a time.

    Args:
        on_written: Called from the thread with the step, and with the error if there was one.
    """

    def __init__(self, directory: Place, on_written: OnWritten) -> None:
        self._directory = directory
        self._on_written = on_written
        self._thread: threading.Thread | None = None
        self._streams: list[StreamedArray] = []

    @property
    def busy(self) -> bool:
        """Whether a checkpoint is being written."""
        return self._thread is not None and self._thread.is_alive()

    def save(self, step: int, tensors: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        """Start to write a checkpoint, after waiting for one that is being written."""
        self.wait()
        self._streams = [tensor for tensor in tensors.values() if isinstance(tensor, StreamedArray)]
        self._thread = threading.Thread(target=self._write, args=(step, tensors, data), name="checkpoint")
        self._thread.start()

    def _write(self, step: int, tensors: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        try:
            save(self._directory, step, tensors, data)
        except CheckpointNotWritten as error:
            self._on_written(step, error)
        except Exception as error:  # whatever it is, nothing was saved
            self._on_written(step, CheckpointNotWritten(f"{type(error).__name__}: {error}"))
        else:
            self._on_written(step, None)

    @property
    def streaming(self) -> bool:
        """Whether an array still has to be passed on."""
        return bool(self._streams)

    def feed(self) -> None:
        """Pass on the next slice, in the training thread, while nothing writes into the arrays that are saved."""
        if self._streams[0].is_copied or not self.busy:
            self._streams.pop(0)
        else:
            self._streams[0].feed()

    def release(self) -> None:
        """Let the thread read the remaining arrays, into which nothing writes any more."""
        while self._streams:
            self._streams.pop().release()

    def wait(self) -> None:
        """Wait until the checkpoint is written; the training must not continue meanwhile."""
        self.release()
        if self._thread is not None:
            self._thread.join()
