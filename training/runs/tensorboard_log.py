"""TensorBoard's event files beside a run's metrics, where TensorBoard is installed."""

from __future__ import annotations

import time
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ...envs.entries import FolderEntry, HeldFolder, Place, entry_of

FOLDER = "tensorboard"


class TensorBoardLog:
    """Writes the curves of a run as event files, if TensorBoard is installed. It is imported with the first points.

    After an error, TensorBoard's writer cannot be used any more, so no further points are written.

    Args:
        run: The run's folder; None if nothing is kept.
    """

    def __init__(self, run: Place | None) -> None:
        self._run = entry_of(run) / FOLDER if run is not None and find_spec("tensorboard") is not None else None
        self._writer: Any = None
        self._held: HeldFolder | None = None

    def add(self, row: Mapping[str, float], step: int) -> None:
        """Add a point to every curve.

        Raises:
            OSError: The disk is full, or cannot be written to.
        """
        if self._run is None:
            return
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary

        points = [Summary.Value(tag=name, simple_value=value) for name, value in row.items()]
        try:
            if self._writer is None:
                self._run.mkdir()
                self._held = self._run.hold()
                self._writer = _open(_path_of(self._held, self._run), step)
            self._writer.add_event(Event(wall_time=time.time(), step=step, summary=Summary(value=points)))
        except OSError:
            self._run = self._writer = None
            raise

    def close(self) -> None:
        """Write the remaining points.

        Raises:
            OSError: The disk is full, or cannot be written to.
        """
        if self._writer is not None:
            self._writer.close()


def _path_of(held: HeldFolder, folder: FolderEntry) -> Path:
    """Return a path that leads to a held folder: TensorBoard opens its file by a path, before each write."""
    by_descriptor = Path(f"/proc/self/fd/{held.descriptor}")
    return by_descriptor if by_descriptor.exists() else folder.path


def _open(folder: Path, step: int) -> Any:
    """Open a file that replaces the points of older files from `step` on, which a killed session had not saved."""
    from tensorboard.compat.proto.event_pb2 import Event, SessionLog
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    writer = EventFileWriter(str(folder))
    writer.add_event(Event(wall_time=time.time(), step=step, session_log=SessionLog(status=SessionLog.START)))
    return writer
