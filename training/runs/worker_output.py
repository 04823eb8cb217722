"""Keeps the output of a session's workers in its run's folder, in two files of limited size."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from ...envs.entries import Place, entry_at
from ...envs.files import open_binary
from ..logs import plain, worker_logs

CHUNK = 64 * 1024  # bytes per read
MAX_BYTES = 8 * 2**20
"""A larger file is renamed, and replaces the one that was renamed before."""


class WorkerOutput:
    """Appends what workers print to a file, each line after the worker's name.

    The workers' own log files are in memory, are emptied when they are large, and are removed when the workers end.

    Args:
        directory: The session's directory, which contains the log files of its workers.
        path: The file; None to keep no output.
    """

    def __init__(self, directory: Path, path: Place | None) -> None:
        self._directory, self._entry = directory, None if path is None else entry_at(path)
        self._read: dict[Path, tuple[int, int]] = {}
        self._lock = threading.Lock()

    def copy(self) -> None:
        """Append what was printed since the last call; any thread may.

        Raises:
            OSError: It cannot be written.
        """
        if self._entry is None:
            return
        with self._lock, suppress(FileNotFoundError):  # a run that could not start was removed
            for source, log in worker_logs(self._directory):
                for data in self._new(log):
                    lines = data.decode(errors="replace").splitlines()
                    self._append("".join(f"{source}: {plain(line)}\n" for line in lines))

    def _new(self, log: Path) -> Iterator[bytes]:
        """Yield the output of a worker since the last call, in pieces of whole lines."""
        try:
            file = open_binary(log)
        except OSError:  # the worker has ended
            return
        with file:
            found, size = os.fstat(file.fileno()).st_ino, file.seek(0, os.SEEK_END)
            inode, at = self._read.get(log, (found, 0))
            if inode != found or size < at:  # another worker, or emptied
                at = 0
            file.seek(at)
            while data := file.read(CHUNK):
                whole = data.rfind(b"\n") + 1 or (len(data) if len(data) == CHUNK else 0)
                if not whole:
                    break
                at += whole
                file.seek(at)
                self._read[log] = found, at
                yield data[:whole]

    def _append(self, text: str) -> None:
        assert self._entry is not None
        with os.fdopen(self._entry.open(os.O_WRONLY | os.O_CREAT | os.O_APPEND), "a", encoding="utf-8") as file:
            file.write(text)
            size = file.tell()
        if size > MAX_BYTES:
            self._entry.rename(f"{self._entry.name}.1")
