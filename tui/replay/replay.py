"""The app for a recorded episode: Space plays it, the arrow keys step through it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ...training.telemetry.snapshot import Snapshot
from ..app.app import PacApp
from ..app.session_commands import OWN_ENVIRONMENTS
from ..keys import shown
from .episode_session import EpisodeConnection

RATE, LEAST_RATE, MOST_RATE = 4.0, 0.25, 64.0  # steps/s
TO_TRAINING = OWN_ENVIRONMENTS | {"steps", "unlimited", "breaks", "episodes", "control"}
"""Commands that only a training can execute."""


class ReplayApp(PacApp):
    """Shows a recorded episode from its first state on.

    Attributes:
        playing: Whether it plays.
        rate: Playing speed in steps/s.
    """

    def __init__(self, connection: EpisodeConnection) -> None:
        super().__init__(connection)
        self.state.replay = True
        self.playing = False
        self.rate = RATE
        self._opened = False

    def commands(self) -> dict[str, Callable[[], object]]:
        """Return what the keys do: those that would control a training control the replay."""
        return {
            **super().commands(),
            "pause": self._toggle,
            "step": partial(self.debugger.travel, 1),
            "episode": lambda: self.debugger.travel(self._length),
            "faster": partial(self._scale_rate, 2.0),
            "slower": partial(self._scale_rate, 0.5),
            "runs": lambda: self.notify(
                f"press {shown('quit')} to leave the episode; pac-tui runs lists the runs", title="Runs"
            ),
            "quit": self.ending.leave,
            "interrupt": partial(self.ending.leave, interrupted=True),
        }

    def unavailable(self, command: str) -> str:
        """Return why a command cannot be executed; an empty text if it can."""
        return "a recorded episode cannot be changed" if command in TO_TRAINING else ""

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

    def _toggle(self) -> None:
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

    def _scale_rate(self, factor: float) -> None:
        self.rate = min(MOST_RATE, max(LEAST_RATE, self.rate * factor))
        self.notify(f"{self.rate:g} steps/s", title="Speed", timeout=2)
