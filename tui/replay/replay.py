"""The app for a recorded episode: Space plays it, the arrow keys step through it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from ...training.telemetry.snapshot import Snapshot
from ..app.app import PacApp
from ..keys import shown
from .episode_session import EpisodeConnection

RATE, LEAST_RATE, MOST_RATE = 4.0, 0.25, 64.0  # steps/s


class ReplayApp(PacApp):
    """Shows a recorded episode from its first state on.

    Attributes:
        rate: Playing speed in steps/s.
    """

    INSTEAD: ClassVar[Mapping[str, str]] = {
        "pause": "toggle",
        "step": "debugger.travel(1)",
        "episode": "travel_to_end",
        "faster": "scale_rate(2.0)",
        "slower": "scale_rate(0.5)",
        "runs": "refer_to_runs",
        "quit": "ending.leave",
        "interrupt": "leave_at_once",
    }

    def __init__(self, connection: EpisodeConnection) -> None:
        super().__init__(connection)
        self.state.replay = True
        self.playing = False
        self.rate = RATE
        self._opened = False

    def show_snapshot(self, snapshot: Snapshot) -> None:
        """Show a new snapshot; go to the first state when the episode is known."""
        super().show_snapshot(snapshot)
        if not self._opened:
            self._opened = True
            self.navigation.open_environment(1)
            self.debugger.travel(-self._length)

    @property
    def _length(self) -> int:
        line = self.state.snapshot.line if self.state.snapshot is not None else None
        return len(line.ends) if line is not None else 0

    def toggle(self) -> None:
        """Play, from the first state if the last one is shown; or stop playing."""
        self.playing = not self.playing
        if self.playing:
            if not self.debugger.back:
                self.debugger.travel(-self._length)
            self.set_timer(1 / self.rate, self._play)

    def _play(self) -> None:
        if self.playing:
            self.debugger.travel(1)
            self.playing = self.debugger.back > 0
            self.set_timer(1 / self.rate, self._play)

    def scale_rate(self, factor: float) -> None:
        """Play faster or slower."""
        self.rate = min(MOST_RATE, max(LEAST_RATE, self.rate * factor))
        self.notify(f"{self.rate:g} steps/s", title="Speed", timeout=2)

    def travel_to_end(self) -> None:
        """Show the last state."""
        self.debugger.travel(self._length)

    def refer_to_runs(self) -> None:
        """Say where the runs are listed."""
        self.notify(f"press {shown('quit')} to leave the episode; pac-tui runs lists the runs", title="Runs")

    def leave_at_once(self) -> None:
        """Leave with the exit code of an interrupt."""
        self.ending.leave(interrupted=True)
