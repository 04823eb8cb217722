"""Opens the dialogs, and passes on what the user answers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ..training.config import RUNS
from ..training.telemetry.records import Phase
from ..training.units import plural
from .debugger import EnvironmentDebugger
from .dialogs.breakpoints import BreakpointsDialog
from .dialogs.help import HelpDialog
from .dialogs.leave import LeaveDialog
from .dialogs.manual_play import ManualPlay
from .dialogs.prompt import Prompt
from .dialogs.sweep import SweepDialog
from .ending import Ending
from .navigation import Navigation
from .session_commands import SessionCommands
from .state import AppState

if TYPE_CHECKING:
    from ..training.runs.overview import RunOverview


class DialogApp(Protocol):
    """The app and its parts, as dialogs need them."""

    state: AppState
    navigation: Navigation
    debugger: EnvironmentDebugger
    training: SessionCommands
    ending: Ending

    def push_screen(self, screen: Any, callback: Any = None) -> object:
        """Show a dialog."""


class DialogOpener:
    """Opens dialogs; each method is what a key does."""

    def __init__(self, app: DialogApp) -> None:
        self._app = app

    def ask_environment(self) -> None:
        """Ask for an environment and show it."""
        question = f"{self._app.state.units.environment} 1 to {self._app.state.num_envs}:"
        self._ask_number(question, self._app.navigation.open_environment)

    def ask_steps(self) -> None:
        """Ask for a number of steps and take them."""
        units = self._app.state.units
        self._ask_number(f"{plural(units.step)} of every {units.environment}:", self._app.training.step)

    def ask_envs(self) -> None:
        """Ask for a number of environments and restart."""
        self._ask_number(f"number of {plural(self._app.state.units.environment)}:", self._app.training.set_envs)

    def _ask_number(self, question: str, act: Callable[[int], None]) -> None:
        def answered(text: str | None) -> None:
            if text is not None and text.lstrip("+-").isdigit():
                act(int(text))

        self._app.push_screen(Prompt(question), answered)

    def ask_search(self) -> None:
        """Ask for a text and search the output."""

        def answered(text: str | None) -> None:
            if text is not None:
                self._app.navigation.search(text)

        self._app.push_screen(Prompt("search the output:", "text"), answered)

    def help(self) -> None:
        """Show all keys."""
        self._app.push_screen(HelpDialog(self._app.state.units))

    def breakpoints(self) -> None:
        """Show the breakpoints."""
        if self._app.state.snapshot is not None:
            self._app.push_screen(BreakpointsDialog(self._app.training.send, self._app.state.snapshot))

    def sweep(self) -> None:
        """Show what was measured at each N, and measure more."""
        if self._app.state.snapshot is not None:
            self._app.push_screen(SweepDialog(self._app.training.send, self._app.state.snapshot))

    def play_by_hand(self) -> None:
        """Pause the training and let the user play the selected environment."""
        if not self._app.training.has_episodes():
            return
        self._app.navigation.open_selected()
        if self._app.state.snapshot is None:
            return
        if self._app.state.phase is not Phase.PAUSED:
            self._app.training.send("pause")
        self._app.debugger.play()
        env, seat = self._app.state.env, self._app.state.seat
        dialog = ManualPlay(self._app.training.send, env, seat, self._app.state.snapshot)
        self._app.push_screen(dialog, lambda _: self._app.debugger.stop_playing())

    def runs(self) -> None:
        """Show the runs. To open one, the app leaves this session."""
        from .dialogs.run_picker import RunPicker

        about = self._app.state.snapshot.description if self._app.state.snapshot is not None else None
        parent = Path(about.folder).parent if about is not None and about.folder else RUNS
        self._app.push_screen(RunPicker(parent, about.pid if about is not None else 0), self._open_run)

    def _open_run(self, run: RunOverview | None) -> None:
        self._app.ending.next_run = run
        if run is not None:
            self.leave()

    def leave(self) -> None:
        """Ask whether to stop the session or to detach; where there is no choice, stop."""
        snapshot, run = self._app.state.snapshot, self._app.ending.next_run
        if snapshot is None or not self._app.ending.has_choice:
            self._app.ending.stop()
            return
        facts, then = snapshot.description, run.name if run is not None else ""
        dialog = LeaveDialog(facts.run, watched=facts.watched, stops=self._app.ending.owns_session, then=then)
        self._app.push_screen(dialog, self._app.ending.choose)
