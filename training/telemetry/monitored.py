"""What steps the environments of a training, as those see it who look at it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ...backends import WorkerStatus
from ...backends.core.layout import Buffer


class MonitoredEnvs(Protocol):
    """A backend, or a buffer that is told of steps elsewhere."""

    @property
    def buffer(self) -> Buffer:
        """The arrays of the task's fields."""

    @property
    def workers(self) -> Sequence[WorkerStatus]:
        """The workers at this moment."""

    def save(self, slot: int) -> bool:
        """Have the environments' whole states in the buffer, as of the newest `slot`; return whether they are there."""
