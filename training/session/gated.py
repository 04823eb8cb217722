"""The environments as a trainer of a session gets them: behind the gate, watched."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...backends.base import Backend

if TYPE_CHECKING:
    from .session import Session


class GatedEnvs:
    """A backend behind the gate."""

    def __init__(self, backend: Backend, session: Session) -> None:
        self.backend = backend
        self.buffer = backend.buffer
        self.environments = backend.environments
        self._timer = session.timer
        self._monitor = session.monitor
        self._hand = session.monitor.hand
        self._keeper = session.keeper
        self._session = session

    def start(self, slot: int = 0) -> None:
        """Begin an episode in every environment."""
        self.backend.start(slot)
        self._monitor.begin(self.backend)
        self._timer.skip()

    def advance(self, slot: int) -> None:
        """Pass the gate and step all environments."""
        timer, backend = self._timer, self.backend
        timer.lap("python")
        self._session.pass_gate()
        if self._hand.wanted is not None or self._hand.played is not None:
            self._hand.play(self.buffer, slot)
        busy = backend.busy_seconds
        self._session.stepping = True
        try:
            backend.advance(slot)
        finally:
            self._session.stepping = False
        spent = timer.lap("environment")
        timer.move("environment", "transport", max(0.0, spent - (backend.busy_seconds - busy)))
        self._monitor.step(slot)
        if self._keeper.streaming:
            self._keeper.feed()

    def carry(self) -> None:
        """Copy the last slot to slot 0."""
        self.backend.carry()

    def close(self) -> None:
        """Stop the workers."""
        self._session.let_go(self.backend)
        self.backend.close()
