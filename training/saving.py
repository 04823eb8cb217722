"""Writes checkpoints beside the training: it makes copies and goes on, a thread hashes, flushes and renames."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from .checkpoint import CheckpointNotWritten, save

Told = Callable[[int, CheckpointNotWritten | None], None]


class Saver:
    """Writes one checkpoint at a time; one that is asked for meanwhile is left out, the next one will have it.

    Args:
        directory: Where the checkpoints stand.
        told: Called from the thread with the step, and with what went wrong.
    """

    def __init__(self, directory: Path, told: Told) -> None:
        self._directory = directory
        self._told = told
        self._thread: threading.Thread | None = None

    @property
    def busy(self) -> bool:
        """Whether a checkpoint is being written."""
        return self._thread is not None and self._thread.is_alive()

    def save(self, step: int, tensors: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        """Begin to write a checkpoint; waits for one that is being written."""
        self.wait()
        self._thread = threading.Thread(target=self._write, args=(step, tensors, data), name="checkpoint")
        self._thread.start()

    def _write(self, step: int, tensors: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        try:
            save(self._directory, step, tensors, data)
        except CheckpointNotWritten as error:
            self._told(step, error)
        else:
            self._told(step, None)

    def wait(self) -> None:
        """Wait until nothing is being written."""
        if self._thread is not None:
            self._thread.join()
