"""The app over a recorded episode: Space plays it, the arrow keys step through it."""

from __future__ import annotations

from ...training.telemetry.snapshot import Snapshot
from ..app import PacApp
from .episode_session import EpisodeConnection

RATE, LEAST_RATE, MOST_RATE = 4.0, 0.25, 64.0  # steps/s


class ReplayApp(PacApp):
    """Shows an episode from its first state on.

    Attributes:
        plays: Whether it goes on by itself.
        rate: How fast, in steps/s.
    """

    def __init__(self, connection: EpisodeConnection) -> None:
        super().__init__(connection)
        self.plays = False
        self.rate = RATE
        self._begun = False

    def watch_snapshot(self, snapshot: Snapshot | None) -> None:
        """Begin at the beginning."""
        super().watch_snapshot(snapshot)
        if snapshot is not None and not self._begun:
            self._begun = True
            self.action_environment(1)
            self.action_travel(-self._length)

    @property
    def _length(self) -> int:
        line = self.snapshot.line if self.snapshot is not None else None
        return len(line.ends) if line is not None else 0

    def action_pause(self) -> None:
        """Play, from the beginning if it was over; or stand still."""
        self.plays = not self.plays
        if self.plays:
            if not self.back:
                self.action_travel(-self._length)
            self.set_timer(1 / self.rate, self._play)

    def _play(self) -> None:
        if self.plays:
            self.action_travel(1)
            self.plays = self.back > 0
            self.set_timer(1 / self.rate, self._play)

    def action_step(self) -> None:
        """One step on."""
        self.action_travel(1)

    def action_episode(self) -> None:
        """Go to the end."""
        self.action_travel(self._length)

    def action_speed(self, factor: float) -> None:
        """Play faster or slower."""
        self.rate = min(MOST_RATE, max(LEAST_RATE, self.rate * factor))
        self.notify(f"{self.rate:g} steps/s", title="Speed", timeout=2)

    def action_runs(self) -> None:
        """Stay: an episode is looked at, not a session."""
        self.notify("q leaves the episode; pac-tui runs lists the runs", title="Runs")

    def action_stop(self) -> None:
        """Leave."""
        self.leave()

    def action_leave(self) -> None:
        """Leave: there is nothing to stop or to detach from."""
        self.leave()
