"""The environments of a training as its monitor sees them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ...backends import WorkerStatus
from ...backends.core.layout import Buffer


class MonitoredEnvs(Protocol):
    """A backend, or a buffer into which the steps of other environments are copied."""

    @property
    def buffer(self) -> Buffer:
        """The arrays of the task's fields."""

    @property
    def workers(self) -> Sequence[WorkerStatus]:
        """The workers at this moment."""

    def save(self, slot: int) -> bool:
        """Write the environments' states into the buffer, as of the newest `slot`; return whether that is possible."""
