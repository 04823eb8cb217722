"""TensorBoard's event files beside a run's metrics, where TensorBoard is installed."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

FOLDER = "tensorboard"


class EventWriter(Protocol):
    """What PyTorch's writer of event files is used for."""

    def add_scalar(self, tag: str, scalar_value: float, global_step: int) -> None:
        """Add a point to a curve."""

    def close(self) -> None:
        """Write what is left."""


def event_writer(run: Path) -> EventWriter | None:
    """Return a writer into the run's folder, or None without TensorBoard."""
    if find_spec("tensorboard") is None:
        return None
    from torch.utils.tensorboard import SummaryWriter

    writer: EventWriter = SummaryWriter(str(run / FOLDER))
    return writer
