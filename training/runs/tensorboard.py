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
    """The curves of a run as event files; nothing without TensorBoard, which is loaded with the first points.

    Its writer is of no use any more once it could not write: then the files end.

    Args:
        run: The run's folder; None if nothing is kept.
    """

    def __init__(self, run: Path | None) -> None:
        self._run = run if find_spec("tensorboard") is not None else None
        self._writer: Writer | None = None

    def add(self, row: Mapping[str, float], step: int) -> None:
        """Add a point to every curve.

        Raises:
            OSError: The disk is full or refuses.
        """
        if self._run is None:
            return
        try:
            self._writer = self._writer or _open(self._run / FOLDER)
            for name, value in row.items():
                self._writer.add_scalar(name, value, step)
        except OSError:
            self._run = self._writer = None
            raise

    def close(self) -> None:
        """Write what is left.

        Raises:
            OSError: The disk is full or refuses.
        """
        if self._writer is not None:
            self._writer.close()


def _open(folder: Path) -> Writer:
    from tensorboard.summary import Writer as EventWriter

    writer: Writer = EventWriter(str(folder))
    return writer
