"""TensorBoard's event files beside a run's metrics, where TensorBoard is installed."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

FOLDER = "tensorboard"


class Writer(Protocol):
    """What TensorBoard's own writer is used for."""

    def add_scalar(self, tag: str, data: float, step: int) -> None:
        """Add a point to a curve."""

    def close(self) -> None:
        """Write what is left."""


class EventFiles:
    """The curves of a run as event files; nothing without TensorBoard, which is loaded with the first points."""

    def __init__(self, run: Path) -> None:
        self._folder = run / FOLDER
        self._wanted = find_spec("tensorboard") is not None
        self._writer: Writer | None = None

    def add(self, row: Mapping[str, float], step: int) -> None:
        """Add a point to every curve."""
        if self._wanted:
            self._writer = self._writer or self._open()
            for name, value in row.items():
                self._writer.add_scalar(name, value, step)

    def _open(self) -> Writer:
        from tensorboard.summary import Writer as EventWriter

        writer: Writer = EventWriter(str(self._folder))
        return writer

    def close(self) -> None:
        """Write what is left."""
        if self._writer is not None:
            self._writer.close()
