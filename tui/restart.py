"""A restart that was asked for and may still change its mind: presses merge, a countdown runs, Enter and Esc decide."""

from __future__ import annotations

import time
from collections.abc import Callable

from ..training.config import MAX_ENVS

DEBOUNCE = 0.5


class PendingRestart:
    """The number of environments that is about to be asked for.

    Attributes:
        wanted: That number, None if no restart is pending.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.wanted: int | None = None
        self._clock = clock
        self._at = 0.0

    def ask(self, num_envs: int) -> None:
        """Want this many, half a second from now."""
        self.wanted = min(MAX_ENVS, max(1, num_envs))
        self._at = self._clock() + DEBOUNCE

    @property
    def left(self) -> float:
        """Seconds until it happens."""
        return max(0.0, self._at - self._clock()) if self.wanted is not None else 0.0

    def take(self, *, now: bool = False) -> int | None:
        """Return the number once its time has come (or `now`), and want nothing more."""
        if self.wanted is None or (self.left > 0 and not now):
            return None
        wanted, self.wanted = self.wanted, None
        return wanted

    def cancel(self) -> bool:
        """Want nothing; return whether something was wanted."""
        pending, self.wanted = self.wanted is not None, None
        return pending
