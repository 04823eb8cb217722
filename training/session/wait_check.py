"""Reports code of a trainer that waits for the device between two steps, for `--check-sync`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..telemetry.events import EventLog
from ..telemetry.records import Level

if TYPE_CHECKING:
    from ..nets.wait_guard import Wait


class WaitCheck:
    """Watches what the training thread computes between two steps of an iteration.

    Code before the first step and after the last one, where a trainer learns, is not watched. Neither is the session's
    own code during a step.

    Args:
        events: Where each place that waits is reported, once.
    """

    def __init__(self, events: EventLog) -> None:
        self._events = events
        self._found: list[Wait] = []
        self._reported: set[Wait] = set()
        self._between = False

    @contextmanager
    def iteration(self) -> Iterator[None]:
        """Watch an iteration of the trainer."""
        from ..nets.wait_guard import WaitGuard

        self._between = False
        with WaitGuard(self._found.append):
            yield

    def begin_step(self) -> None:
        """Report what waited since the last step."""
        for wait in self._found if self._between else ():
            if wait not in self._reported:
                self._reported.add(wait)
                reason = f"{wait.where} {wait.what}, so every step waits for the device"
                self._events.add(Level.WARNING, f"check-sync: {reason}; compute it on the device")
        self._found.clear()

    def end_step(self) -> None:
        """Watch what is computed until the next step."""
        self._found.clear()
        self._between = True
