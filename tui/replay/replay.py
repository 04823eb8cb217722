"""The app for a recorded episode: Space plays it, the arrow keys step through it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Thread
from typing import ClassVar

from textual.notifications import SeverityLevel

from ...envs import PacError
from ...training.past.episode import Episode
from ...training.telemetry.snapshot import Snapshot
from ..app.app import PacApp
from ..keys import shown
from ..terminal.raster import CannotExport
from .episode_session import EpisodeConnection, EpisodeSession
from .film import make_film

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
        "record": "film",
        "play": "branch",
        "against": "dialogs.ask_against",
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
        self._source = connection
        self._filming: Thread | None = None

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

    def unavailable(self, command: str) -> str:
        if command in {"play", "against"}:
            return self.debugger.why_no_copy
        return "" if command in self.INSTEAD else super().unavailable(command)

    def title_of(self, command: str) -> str:
        return "Film" if command == "record" else super().title_of(command)

    def film(self) -> None:
        """Write the episode as a film into the working directory, in a thread."""
        if self._filming is not None and self._filming.is_alive():
            self.notify("it is being made", title="Film", timeout=2)
            return
        session = self._source.wait()
        assert isinstance(session, EpisodeSession)
        target = Path(f"{session.name}.mp4").resolve()
        self._filming = Thread(target=self._make_film, args=(session.episode, target), name="film")
        self._filming.start()
        self.notify(f"{target} is being made", title="Film", timeout=3)

    def _make_film(self, episode: Episode, target: Path) -> None:
        try:
            make_film([[("", episode)]], target, on_progress=self._go_on)
        except PacError as error:
            self._tell(str(error), "error")
        else:
            self._tell(f"saved {target}", "information")

    def _tell(self, text: str, severity: SeverityLevel) -> None:
        with suppress(RuntimeError):  # the app has ended
            self.call_from_thread(partial(self.notify, text, title="Film", severity=severity))

    def _go_on(self, _text: str, _share: float) -> None:
        """Do not let a film delay the end of the app."""
        if not self.is_running:
            raise CannotExport("the film was not finished, because the app has ended")

    def leave_at_once(self) -> None:
        """Leave with the exit code of an interrupt."""
        self.ending.leave(interrupted=True)
