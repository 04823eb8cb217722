"""The app: makes its parts and connects them. `PacApp.commands` says what each key does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal

from textual.app import ComposeResult, SystemCommand
from textual.binding import BindingType
from textual.screen import Screen

from ..training.telemetry.moments import MAX_STEPS_BACK
from ..training.telemetry.records import Level, Phase
from ..training.telemetry.snapshot import Snapshot, ViewRequest
from .connection import SessionConnection
from .debugger import EnvironmentDebugger
from .dialog_opener import DialogOpener
from .dialogs.dialog import Dialog
from .drawing.plain import PlainScreen
from .drawing.theme import apply_theme, colors_distinguish
from .ending import Ending
from .keys import bindings, commands
from .messages import EnvironmentOpened, Refused, SessionLost, SnapshotTaken, ViewChosen
from .navigation import PAGE_STEPS, Navigation
from .painter import Painter
from .refresh import FIGURES, FOCUS, GRID, SYSTEM, RefreshScheduler
from .session_commands import SessionCommands
from .state import AppState
from .svg import save_svg
from .terminal_app import TerminalApp
from .threads import CommandThread, SnapshotThread

TOASTS: dict[Level, Literal["information", "warning", "error"]] = {
    Level.GOOD: "information",
    Level.WARNING: "warning",
    Level.ERROR: "error",
    Level.FATAL: "error",
}
PERIODS = {"summary": GRID, "environment": FOCUS}
"""Seconds between two requests for a snapshot, by view."""


class PacApp(TerminalApp):
    """Shows a session.

    Attributes:
        state: What the app shows: the session and what of it is selected.
        debugger: Inspects one environment and goes back in time.
        training: Sends commands to the session.
        ending: Stops the session, or detaches from it.
        navigation: Selects views, environments and pages.
        painter: Draws the screen.
        dialogs: Opens dialogs.
    """

    CSS_PATH = Path(__file__).with_name("pac.tcss")
    BINDINGS: ClassVar[list[BindingType]] = bindings()
    COMMAND_PALETTE_BINDING = "ctrl+p"
    HORIZONTAL_BREAKPOINTS = [(0, "-slim"), (70, "-narrow"), (100, "-normal"), (150, "-wide")]  # noqa: RUF012 - Textual's
    VERTICAL_BREAKPOINTS = [(0, "-low"), (20, "-short"), (34, "-tall"), (50, "-high")]  # noqa: RUF012 - Textual's

    def __init__(self, connection: SessionConnection) -> None:
        super().__init__()
        apply_theme(self)
        self.connection = connection
        self.state, self.scheduler = AppState(), RefreshScheduler()
        self._requests = CommandThread(connection, self.post_message)
        self._snapshots = SnapshotThread(connection, self.post_message)
        self.debugger = EnvironmentDebugger(self.state, self)
        self.training = SessionCommands(self.state, self._requests.send, self)
        self.ending = Ending(self.state, connection, self.training, self)
        directory, colors = (lambda: connection.directory), colors_distinguish(self)
        self.painter = Painter(self.state, self.debugger, self.scheduler, directory, colors=colors)
        self.navigation = Navigation(self.state, self.debugger, self.painter, self)
        self.dialogs = DialogOpener(self)
        self._requested: ViewRequest | None = None
        self._last_event = 0
        self._announced: tuple[Phase, Mapping[str, Any]] | None = None
        self._resized = False

    def commands(self) -> dict[str, Callable[[], object]]:
        """Return what the keys do, by the ids of `keys.py`."""
        navigation, training, dialogs = self.navigation, self.training, self.dialogs
        return {
            "view.next": partial(navigation.next_tab, 1),
            "view.previous": partial(navigation.next_tab, -1),
            "view.summary": partial(navigation.show, "summary"),
            "view.timing": partial(navigation.show, "timing"),
            "view.learning": partial(navigation.show, "learning"),
            "view.workers": partial(navigation.show, "workers"),
            "view.logs": partial(navigation.show, "logs"),
            "logs.search": dialogs.ask_search,
            "page.next": partial(navigation.turn_page, 1),
            "page.previous": partial(navigation.turn_page, -1),
            "axis": navigation.toggle_axis,
            "env.number": dialogs.ask_environment,
            **{f"env.{number}": partial(navigation.open_environment, number) for number in range(1, 10)},
            "select.left": partial(navigation.move, -1, 0),
            "select.right": partial(navigation.move, 1, 0),
            "select.up": partial(navigation.move, 0, -1),
            "select.down": partial(navigation.move, 0, 1),
            "accept": self._accept,
            "cancel": self._cancel,
            "pause": training.toggle_pause,
            "step": training.step,
            "steps": dialogs.ask_steps,
            "episode": training.finish_episode,
            "faster": partial(training.scale_speed, 2.0),
            "slower": partial(training.scale_speed, 0.5),
            "unlimited": training.remove_speed_limit,
            "inspect": navigation.inspect,
            "travel.back": partial(navigation.travel, -PAGE_STEPS),
            "travel.on": partial(navigation.travel, PAGE_STEPS),
            "travel.first": partial(navigation.travel, -MAX_STEPS_BACK),
            "travel.last": partial(navigation.travel, MAX_STEPS_BACK),
            "breaks": dialogs.breakpoints,
            "record": training.record,
            "play": dialogs.play_by_hand,
            "envs.fewer": partial(training.add_envs, -1),
            "envs.more": partial(training.add_envs, 1),
            "envs.half": partial(training.multiply_envs, 0.5),
            "envs.double": partial(training.multiply_envs, 2.0),
            "envs.number": dialogs.ask_envs,
            "baseline": partial(training.send, "baseline"),
            "sweep": dialogs.sweep,
            "runs": dialogs.runs,
            "screenshot": self._save_screenshot,
            "help": dialogs.help,
            "palette": self.action_command_palette,
            "control": partial(training.send, "control"),
            "quit": dialogs.leave,
            "interrupt": self.ending.interrupt,
        }

    def action_run_command(self, key: str) -> None:
        """Do what a key does."""
        self.commands()[key]()

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:  # noqa: ARG002 - Textual's
        """Yield the entries of the command palette."""
        for key in commands():
            if key.id != "palette":
                title = self.state.units.translate(key.title)
                yield SystemCommand(title, f"key {key.shown}", partial(self.action_run_command, key.id))

    async def action_quit(self) -> None:
        """Do what the key to quit does."""
        self.action_run_command("quit")

    def _accept(self) -> None:
        if not self.training.restart_if_due(now=True):
            self.navigation.accept()
        self.draw_footer()

    def _cancel(self) -> None:
        if not (self.debugger.go_to_newest() or self.training.pending.cancel()):
            self.navigation.show("summary")
        self.draw_footer()

    # -- from the session to the screen -------------------------------------------------------------------------------

    def get_default_screen(self) -> PlainScreen:
        """Return the screen that contains the views."""
        return PlainScreen(id="_default")

    def compose(self) -> ComposeResult:
        """Yield the widgets from top to bottom."""
        yield from self.painter.widgets()

    def on_mount(self) -> None:
        """Start to request snapshots."""
        self._tick()

    def on_unmount(self) -> None:
        """End the threads."""
        self._snapshots.close()
        self._requests.close()

    def _tick(self) -> None:
        """Request a snapshot, as often as the view needs it and the app may cost."""
        if not self.is_running:
            return
        counting_down = self.training.pending.num_envs is not None
        period = GRID if counting_down else PERIODS.get(self.state.view, FIGURES)
        self.set_timer(period * self.scheduler.slowdown, self._tick)
        self.scheduler.measure()
        self.training.restart_if_due()
        self._request()
        if self.scheduler.due("system", SYSTEM) or counting_down:
            self.draw_footer()
        # Log files grow without a new snapshot. The last snapshot may have come before figures were due.
        if self.state.phase is Phase.STARTING or self.state.view == "logs" or self.painter.overdue:
            self.painter.draw()

    def _request(self) -> None:
        """Request a snapshot of what is on the screen. Tell the session when that changes."""
        request = self.painter.request()
        if request != self._requested:
            self._requested = request
            self.training.send("look", **{**asdict(request), "curves": list(request.curves)})
        self._snapshots.request(request)

    def refresh_now(self) -> None:
        """Draw everything and request a snapshot."""
        if not self.is_running:
            return
        self.scheduler.expire_all()
        self.painter.draw_header()
        self.draw_footer()
        self.painter.draw()
        self._request()

    def draw_footer(self) -> None:
        """Draw the last lines of the screen."""
        controller = self.state.controlled_by_other(self.connection.number)
        self.painter.draw_footer(self.ending.note() or self.training.note(), controller)

    def on_snapshot_taken(self, message: SnapshotTaken) -> None:
        """Show a new snapshot."""
        self.state.snapshot = message.snapshot
        if self.is_running:
            self.show_snapshot(message.snapshot)

    def show_snapshot(self, snapshot: Snapshot) -> None:
        """Show a new snapshot; report what happened; leave with the session."""
        self.state.env = min(self.state.env, max(0, snapshot.num_envs - 1))
        self._toast(snapshot)
        if (env := self.debugger.new_break(snapshot)) is not None:
            self.navigation.open_environment(env + 1)
        if isinstance(self.screen, Dialog):
            self.screen.show(snapshot)
        if (snapshot.phase, snapshot.audience) != self._announced:
            self._announced = snapshot.phase, snapshot.audience
            self.training.requested_pause = None
            self.scheduler.expire_all()
            self.draw_footer()
        self.painter.draw()
        if snapshot.phase is Phase.ENDED:
            self.ending.leave()

    def _toast(self, snapshot: Snapshot) -> None:
        """Show the events since the last snapshot."""
        for event in snapshot.events:
            if event.number > self._last_event and event.level in TOASTS:
                self.notify(event.text, severity=TOASTS[event.level])
        self._last_event = max((event.number for event in snapshot.events), default=self._last_event)

    def on_session_lost(self, message: SessionLost) -> None:
        """Show the error; if no snapshot was ever taken, leave it to the command line."""
        self.state.lost = message.error
        if self.state.snapshot is None:
            self.ending.leave()
        else:
            self.refresh_now()

    def on_refused(self, message: Refused) -> None:
        """Show why a command was refused, in the dialog that sent it if there is one."""
        if isinstance(self.screen, Dialog) and message.command in self.screen.SENDS:
            self.screen.refused(message.command, str(message.error))
            return
        if message.command == "stop":
            self.ending.stop_refused()
        self.training.requested_pause = None
        if message.command != "look" and not self.ending.stop_requests:
            self.notify(str(message.error), title=message.error.title, severity="warning")

    def on_environment_opened(self, message: EnvironmentOpened) -> None:
        """Show the environment whose board was clicked."""
        self.navigation.open_environment(message.env + 1)

    def on_view_chosen(self, message: ViewChosen) -> None:
        """Show the view whose name was clicked."""
        self.navigation.show(message.view)

    def on_summary_view_page_turned(self) -> None:
        """Request the boards of the new page."""
        self.refresh_now()

    def on_text_lines_resized(self) -> None:
        """Draw everything for the new sizes, once all of them are known."""
        if not self._resized:
            self._resized = True
            self.call_after_refresh(self._redraw)

    def _redraw(self) -> None:
        self._resized = False
        self.refresh_now()

    def _save_screenshot(self) -> None:
        try:
            path = save_svg(self.screen)
        except OSError as error:
            self.notify(f"cannot write {error.filename}: {error.strerror}", title="Screenshot", severity="error")
        else:
            self.notify(f"saved {path}", title="Screenshot")
