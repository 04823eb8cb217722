"""A restart that happens half a second after it was requested, so that several key presses request one restart."""

from __future__ import annotations

import time
from collections.abc import Callable

from ...training.limits import MAX_ENVS

DEBOUNCE = 0.5


class PendingRestart:
    """The number of environments of a restart that was requested and has not happened yet.

    Attributes:
        num_envs: That number, or None if no restart is pending.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.num_envs: int | None = None
        self._clock = clock
        self._due = 0.0

    def request(self, num_envs: int) -> None:
        """Request a restart in half a second; it replaces an earlier request."""
        self.num_envs = min(MAX_ENVS, max(1, num_envs))
        self._due = self._clock() + DEBOUNCE

    @property
    def seconds_left(self) -> float:
        """Seconds until it happens."""
        return max(0.0, self._due - self._clock()) if self.num_envs is not None else 0.0

    def take(self, *, now: bool = False) -> int | None:
        """Return the number and forget it, if its time has come or if `now`; else return None."""
        if self.num_envs is None or (self.seconds_left > 0 and not now):
            return None
        num_envs, self.num_envs = self.num_envs, None
        return num_envs

    def cancel(self) -> bool:
        """Forget the request; return whether there was one."""
        was_pending, self.num_envs = self.num_envs is not None, None
        return was_pending
