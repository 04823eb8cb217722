"""Opens the dialogs, and passes on what the user answers."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ...training.config import RUNS
from ...training.runs.folder import PLAYING, watched_runs
from ...training.telemetry.records import Phase
from ...training.units import plural
from ..connections.connection import SessionConnection
from ..dialogs.breakpoints import BreakpointsDialog
from ..dialogs.episode_rows import EpisodeRow
from ..dialogs.episodes import EpisodesDialog
from ..dialogs.help import HelpDialog
from ..dialogs.leave import LeaveDialog
from ..dialogs.live_settings import LiveSettingsDialog
from ..dialogs.manual_play import ManualPlay
from ..dialogs.palette import CommandPalette, PaletteCommands
from ..dialogs.prompt import Prompt
from ..dialogs.settings import SettingsDialog
from ..dialogs.sweep import SweepDialog
from ..preferences import Preferences
from ..views.curves import all_curves
from .curve_commands import CurveCommands
from .debugger import EnvironmentDebugger
from .ending import Ending
from .navigation import Navigation
from .session_commands import SessionCommands
from .state import AppState

if TYPE_CHECKING:
    from ...training.runs.overview import RunOverview


class DialogApp(Protocol):
    """The app and its parts, as dialogs need them."""

    connection: SessionConnection
    state: AppState
    navigation: Navigation
    debugger: EnvironmentDebugger
    training: SessionCommands
    ending: Ending
    curves: CurveCommands

    def save_curves(self) -> object:
        """Keep which curves are shown, and in which order."""

    def unavailable(self, command: str) -> str:
        """Return why a command cannot be executed; an empty text if it can."""

    def push_screen(self, screen: Any, callback: Any = None) -> object:
        """Show a dialog."""

    def title_of(self, command: str) -> str:
        """Return what a command does."""

    def change_preferences(self, wanted: Preferences) -> None:
        """Use other preferences at once."""

    def keep_episode(self, env: int, episode: int, length: int) -> object:
        """Have the session write an episode to a file, and replay it."""

    def branch(self) -> None:
        """Ask for another action at the shown step, and show the future that follows."""

    def against(self, name: str) -> None:
        """Show what another policy would do at the steps around the shown one."""

    def action_run_command(self, key: str) -> None:
        """Execute a command."""


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
        self._app.push_screen(HelpDialog(self._app.state.units, self._app.unavailable))

    def settings(self) -> None:
        """Show the settings."""
        self._app.push_screen(SettingsDialog(self._app.change_preferences))

    def palette(self) -> None:
        """Show all commands, and execute the one that the user chooses."""

        def chosen(command: str | None) -> None:
            if command is not None:
                self._app.action_run_command(command)

        commands = PaletteCommands(self._app.title_of, self._app.unavailable, self._app.change_preferences)
        self._app.push_screen(CommandPalette(commands), chosen)

    def breakpoints(self) -> None:
        """Show the breakpoints."""
        if self._app.state.snapshot is not None:
            self._app.push_screen(BreakpointsDialog(self._app.training.send, self._app.state.snapshot))

    def live_settings(self) -> None:
        """Show the settings of the trainer that can be changed while it trains."""
        if self._app.state.snapshot is not None:
            self._app.push_screen(LiveSettingsDialog(self._app.training.send, self._app.state.snapshot))

    def hot_lines(self) -> None:
        """Show where the time goes, line by line."""
        from ..dialogs.hot_lines import HotLines

        if self._app.state.snapshot is not None:
            here = self._app.state.snapshot.description.host == socket.gethostname()
            self._app.push_screen(HotLines(self._app.connection.target.own_client, here=here))

    def stacks(self) -> None:
        """Show where every thread is, also if the session does not answer."""
        from ..dialogs.stacks import Stacks

        self._app.push_screen(Stacks(self._app.connection.target.stacks))

    def memory(self) -> None:
        """Show the memory of all processes."""
        from ..dialogs.memory import Memory

        self._app.push_screen(Memory(self._app.connection.target.own_client))

    def episodes(self) -> None:
        """List the last episodes; the session writes the one that the user chooses to a file."""

        def replay(row: EpisodeRow) -> None:
            self._app.keep_episode(row.env, row.episode, row.length)

        if self._app.state.snapshot is not None:
            self._app.push_screen(EpisodesDialog(replay, self._app.state.snapshot))

    def sweep(self) -> None:
        """Show what was measured at each N, and measure more."""
        if self._app.state.snapshot is not None:
            self._app.push_screen(SweepDialog(self._app.training.send, self._app.state.snapshot))

    def ask_against(self) -> None:
        """Ask for a policy, and show what it would do at the steps around the shown one."""

        def answered(text: str | None) -> None:
            if text is not None and text.strip():
                self._app.against(text.strip())

        self._app.push_screen(Prompt("what would it do here? RUN, RUN@best, RUN@STEPS, random:", "text"), answered)

    def play_by_hand(self) -> None:
        """Pause the training and let the user play the selected environment; on an earlier step, branch off."""
        if self._app.debugger.in_past:
            self._app.branch()
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
        from ..dialogs.run_picker import RunPicker

        pid, folder = self._session()
        snapshot = self._app.state.snapshot
        name = snapshot.description.run if snapshot is not None else ""
        self._app.push_screen(RunPicker(_parent(folder), pid, name), self._open_run)

    def other_runs(self) -> None:
        """Choose the runs whose curves are drawn behind those of the session."""
        from ..dialogs.run_picker import OverlayPicker

        state, curves = self._app.state, self._app.curves
        pid, folder = self._session()
        self._app.push_screen(
            OverlayPicker(
                _parent(folder), pid, folder, lambda: {run.key for run in state.curves.overlays}, curves.toggle_run
            )
        )

    def curves(self) -> None:
        """Choose the curves that are shown, and their order."""
        from ..dialogs.curve_list import CurveList

        state, curves = self._app.state, self._app.curves
        if state.snapshot is not None and (names := all_curves(state.snapshot)):
            log = frozenset(figure.name for figure in state.snapshot.description.figures if figure.log)
            dialog = CurveList(names, log, lambda: state.curves, curves.change)

            def close(name: str | None) -> None:
                self._app.save_curves()
                if name is not None:
                    curves.enlarge(name)

            self._app.push_screen(dialog, close)

    def _session(self) -> tuple[int, str]:
        """Return the process of the session that the app shows and its run's folder, or 0 and nothing."""
        about = self._app.state.snapshot.description if self._app.state.snapshot is not None else None
        return (about.pid, about.folder) if about is not None else (0, "")

    def _open_run(self, run: RunOverview | None) -> None:
        if run is None or (not run.checkpoint and self._app.connection.turn_to(run.pid, run.name)):
            return
        self._app.ending.next_run = run
        self.leave()

    def leave(self) -> None:
        """Ask whether to stop the session or to detach; where there is no choice, stop."""
        snapshot, run = self._app.state.snapshot, self._app.ending.next_run
        if snapshot is None or not self._app.ending.has_choice:
            self._app.ending.stop()
            return
        facts, then = snapshot.description, run.name if run is not None else ""
        ending = self._app.ending
        stops, runs = ending.owns_session, ending.runs_script
        plays = facts.run.endswith(PLAYING)
        dialog = LeaveDialog(facts.run, watched=facts.watched, stops=stops, runs=runs, plays=plays, then=then)
        self._app.push_screen(dialog, self._app.ending.choose)


def _parent(folder: str) -> Path:
    """Return the folder of all runs, by that of one; those of watched scripts are listed besides."""
    return Path(folder).parent if folder and Path(folder).parent != watched_runs() else RUNS
