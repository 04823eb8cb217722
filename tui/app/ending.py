"""The end of the app: stops the session, or detaches from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

from ...training.exits import DONE, FAILED, INTERRUPTED
from ...training.runs.folder import PLAYING
from ...training.telemetry.records import Phase
from ..drawing.styles import FAINT, ORANGE, YELLOW, Row, styled
from .session_commands import SessionCommands
from .state import AppState, Host

if TYPE_CHECKING:
    from ...training.runs.overview import RunOverview

Choice = Literal["stop", "detach"]


class OwnedSession(Protocol):
    """What the end needs of the connection to the session."""

    origin: Literal["process", "thread", "script", "elsewhere"]
    detached: bool

    @property
    def owned(self) -> bool:
        """Whether the session ends with the app, or as a script, if the user interrupts the app."""

    def terminate(self) -> None:
        """Interrupt a script."""

    def stop_start(self) -> bool:
        """End a session that is being started; return whether it is."""

    def kill(self) -> None:
        """End the session at once, without saving."""


class Ending:
    """Stops the session or detaches from it, and leaves the app.

    Attributes:
        stop_requests: How often the user has asked to stop. The second time the app warns, the third time it kills.
        next_run: The run to open afterwards, if the user has chosen one.
    """

    def __init__(self, state: AppState, process: OwnedSession, commands: SessionCommands, host: Host) -> None:
        self.stop_requests = 0
        self.next_run: RunOverview | None = None
        self._interrupted = False
        self._state, self._process, self._commands, self._host = state, process, commands, host

    @property
    def owns_session(self) -> bool:
        """Whether an interrupt of the app ends the session."""
        return self._process.owned

    @property
    def runs_script(self) -> bool:
        """Whether this program runs the script whose session is shown."""
        return self._process.origin == "script"

    @property
    def has_choice(self) -> bool:
        """Whether the user can choose between stopping and detaching."""
        started = self._state.snapshot is not None and self._process.origin != "thread"
        return started and not self._state.over and not self.stop_requests

    def choose(self, choice: Choice | None) -> None:
        """Do what the user has chosen; None stays."""
        if choice == "stop":
            self.stop()
        elif choice == "detach":
            self.detach()
        else:
            self.next_run = None

    def stop(self) -> None:
        """Have the session save and end, or interrupt the script. The app leaves when that has ended."""
        if self._state.over:
            self.leave()
            return
        self.stop_requests += 1
        self._commands.pending.cancel()
        if self.runs_script and self.stop_requests < 3:
            self._process.terminate()
        elif self.stop_requests == 1 and not self._process.stop_start():
            self._commands.send("stop")
        elif self.stop_requests == 3:
            self._process.kill()
            self._host.exit(FAILED, FAILED)
        self._host.draw_footer()

    def stop_refused(self) -> None:
        """Note that the session of another user was not stopped."""
        if not self._process.owned:
            self.stop_requests = 0

    def interrupt(self) -> None:
        """Stop a session that this app has started; detach from any other."""
        self._interrupted = self._process.owned
        self.stop() if self._interrupted else self.detach()

    def detach(self) -> None:
        """Leave, and let the session go on."""
        self._process.detached = True
        self._host.exit(DONE, DONE)

    def leave(self, *, interrupted: bool = False) -> None:
        """Leave, with the exit code of the session's end."""
        interrupted = interrupted or self._interrupted
        code = FAILED if self._state.phase is Phase.FAILED else INTERRUPTED if interrupted else DONE
        self._host.exit(code, code)

    def note(self) -> Row | None:
        """Return the line that the footer shows while the session stops, and when a script has ended."""
        if self._state.end:
            return (
                styled(f" {self._state.end}: press any key to leave ", YELLOW, bold=True),
                styled("  or look at the views", FAINT),
            )
        if not self.stop_requests or self._state.over:
            return None
        quit_key = self._host.key_of("quit")
        if self.stop_requests > 1:
            return (styled(f" still stopping; press {quit_key} again to quit now, without saving ", ORANGE, bold=True),)
        if self.runs_script:
            return (styled(f" interrupting the script... press {quit_key} to send Ctrl-C again ", YELLOW, bold=True),)
        snapshot = self._state.snapshot
        plays = snapshot is not None and snapshot.description.run.endswith(PLAYING)
        return (
            styled(" stopping... ", YELLOW, bold=True),
            styled(f"{'' if plays else 'saving a checkpoint, '}ending the workers", FAINT),
        )
