"""The app. It only wires: snapshots to views, keys to commands, events to toasts."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

from textual.app import ComposeResult, SystemCommand
from textual.binding import BindingType
from textual.screen import Screen

from ..training.telemetry.records import Level, Phase
from ..training.telemetry.snapshot import Look, Snapshot
from ..training.units import plural
from .commanded import INTERRUPTED
from .connection import Connection
from .debugging import FAR, DebuggedApp
from .dialogs.dialog import Dialog
from .dialogs.help import Help
from .dialogs.prompt import Prompt
from .drawing.lines import Lines
from .drawing.plain import PlainScreen, PlainSwitcher
from .drawing.theme import dress, hues
from .edges import Tabs, head, keys, system
from .governor import FIGURES, FOCUS, GRID, SYSTEM
from .keys import bindings, commands
from .messages import EnvironmentOpened, SessionLost, SnapshotTaken, ViewChosen
from .scrubber import scrubber
from .views import EnvironmentView, LearningView, LogView, Shot, SummaryView, TimingView, View, WorkersView
from .views.wait import epitaph, fallen

TOASTS: dict[Level, Literal["information", "warning", "error"]] = {
    Level.GOOD: "information",
    Level.WARNING: "warning",
    Level.ERROR: "error",
    Level.FATAL: "error",
}
EPITAPH = 8  # of the screen's lines, one may tell why a session failed
PERIODS = {"summary": GRID, "environment": FOCUS}


class PacApp(DebuggedApp):
    """Shows a session: a head, the views, a foot."""

    CSS_PATH = Path(__file__).with_name("pac.tcss")
    BINDINGS: ClassVar[list[BindingType]] = bindings()
    COMMAND_PALETTE_BINDING = "ctrl+p"
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012 - Textual says so
        (0, "-slim"),
        (70, "-narrow"),
        (100, "-normal"),
        (150, "-wide"),
    ]
    VERTICAL_BREAKPOINTS = [(0, "-low"), (20, "-short"), (34, "-tall"), (50, "-high")]  # noqa: RUF012

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        dress(self)
        self.by_time = False
        self._place = "summary"
        self._look: Look | None = None
        self._toasted = 0
        self._told: tuple[Phase, Mapping[str, Any]] | None = None
        self._resized = False
        self._head, self._tabs, self._status, self._keys = (
            Lines(id="head"),
            Tabs(),
            Lines(id="status"),
            Lines(id="keys"),
        )
        self._scrubber = Lines(id="scrubber")
        colors = hues(self)
        self._summary = SummaryView(colors=colors)
        self._logs = LogView(lambda: connection.directory)
        views = (self._summary, EnvironmentView(colors=colors), TimingView(), LearningView(), WorkersView(), self._logs)
        self._views: dict[str, View] = {str(view.id): view for view in views}
        self._switcher = PlainSwitcher(*views, id="views", initial=self._place)

    def get_default_screen(self) -> PlainScreen:
        """The screen that the views stand on."""
        return PlainScreen(id="_default")

    def compose(self) -> ComposeResult:
        """A head, the views, a foot."""
        yield self._head
        yield self._tabs
        yield self._switcher
        yield self._scrubber
        yield self._status
        yield self._keys

    def on_mount(self) -> None:
        """Begin to look."""
        with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):  # only in the main thread
            for number in (signal.SIGTERM, signal.SIGINT):
                asyncio.get_running_loop().add_signal_handler(number, self.exit, INTERRUPTED, INTERRUPTED)
        self._tick()

    def on_lines_resized(self) -> None:
        """Draw everything for the new sizes, once all of them are known."""
        if not self._resized:
            self._resized = True
            self.call_after_refresh(self._redraw)

    def _redraw(self) -> None:
        self._resized = False
        self.hurry()

    # -- from the session to the screen -------------------------------------------------------------------------------

    @property
    def view(self) -> View:
        """The view that is shown."""
        return self._views[self._place]

    @property
    def travels(self) -> bool:
        """Whether one environment is shown that stands still."""
        return self._place == "environment" and self.phase is Phase.PAUSED and self.units.episodes

    def _tick(self) -> None:
        """Ask for a look, as often as the view needs it and the app may cost."""
        if not self.is_running:
            return
        period = GRID if self.pending.wanted is not None else PERIODS.get(self._place, FIGURES)
        self.set_timer(period * self.governor.stretch, self._tick)
        self.governor.measure()
        self.settle()
        self._request()
        if self.governor.due("system", SYSTEM) or self.pending.wanted is not None:
            self.announce()
        if self.snapshot is None:
            self._draw_head()
        # Files grow without news, and the last news may have come before figures were due.
        elif self.snapshot.phase is Phase.STARTING or self._place == "logs" or self.governor.owed("figures", "closely"):
            self._show(self.snapshot)

    def _request(self) -> None:
        """Request a snapshot of what is looked at; tell the session when that changes."""
        look = self.closely(self.view.look(self.env))
        if look != self._look:
            self._look = look
            self.command("look", **{**asdict(look), "curves": list(look.curves)})
        self._watcher.request(look)

    def hurry(self) -> None:
        """Look at the session now and draw all of it."""
        if not self.is_running:
            return
        self.governor.at_once()
        self._draw_head()
        self.announce()
        if self.snapshot is not None:
            self._show(self.snapshot)
        self._request()

    def on_snapshot_taken(self, message: SnapshotTaken) -> None:
        """Take over what the watcher saw."""
        self.snapshot = message.snapshot

    def watch_snapshot(self, snapshot: Snapshot | None) -> None:
        """Show it; say what happened; leave with the session."""
        if snapshot is None or not self.is_running:
            return
        self.env = min(self.env, max(0, snapshot.num_envs - 1))
        self._toast(snapshot)
        if (stopped := self.point(snapshot)) is not None:
            self.action_environment(stopped + 1)
        if isinstance(self.screen, Dialog):
            self.screen.show(snapshot)
        if (snapshot.phase, snapshot.audience) != self._told:
            self._told = snapshot.phase, snapshot.audience
            self.asked = None
            self.governor.at_once()
            self.announce()
        self._show(snapshot)
        if snapshot.phase is Phase.ENDED:
            self.leave()

    def _show(self, snapshot: Snapshot) -> None:
        """Give the view what it is due."""
        if self.lost is not None:
            snapshot = replace(snapshot, phase=Phase.FAILED, message=f"{self.lost.title}: {self.lost}")
        figures = self.governor.due("figures", FIGURES)
        snapshot = self.as_of_then(snapshot)
        closely = self.governor.due("closely", GRID) or figures or self.moved(snapshot)
        self.view.show(Shot(snapshot, time.time(), self.env, figures, self.by_time, self.inspecting, closely))
        self._show_time(snapshot)
        if figures:
            self._draw_head()

    def _show_time(self, snapshot: Snapshot) -> None:
        """Show where a paused environment stands in time, or below what is left of a failed session why it failed."""
        (width, height), fell = self.size, fallen(snapshot)
        self._scrubber.display = self.travels or fell
        if fell:
            rows = epitaph(snapshot, width, max(1, height // EPITAPH))
            self._scrubber.styles.height = len(rows)
            self._scrubber.show(rows)
        elif self.travels:
            self._scrubber.show(scrubber(snapshot.description, self.moment, snapshot.line, self.back, width))

    def _draw_head(self) -> None:
        shown = self.snapshot
        if shown is not None and self.lost is not None:
            shown = replace(shown, phase=Phase.FAILED)
        self._head.show([head(shown, self._head.size.width)])
        page, count = self.view.pages
        note = f"page {page:,}/{count:,}" if count > 1 else ""
        self._tabs.draw(self._place, self.env, self.snapshot, note)

    def announce(self) -> None:
        """Draw the foot; a note goes before the figures of the system, or the keys where there is but one line."""
        note, low, width = self.note(), not self._status.display, self._keys.size.width
        figures = system(self.snapshot, self.governor.cost, width, self.controlled_by)
        self._status.show([note if note and not low else figures])
        self._keys.show([note if note and low else keys(width, self.units.env)])

    def _toast(self, snapshot: Snapshot) -> None:
        """Show what happened since the last look."""
        for event in snapshot.events:
            if event.number > self._toasted and event.level in TOASTS:
                self.notify(event.text, severity=TOASTS[event.level], markup=False)
        self._toasted = max((event.number for event in snapshot.events), default=self._toasted)

    def on_session_lost(self, message: SessionLost) -> None:
        """Keep the error on the screen; without anything to show, leave it to the command line."""
        self.lost = message.error
        if self.snapshot is None:
            self.leave()
        else:
            self.hurry()

    # -- from view to view --------------------------------------------------------------------------------------------

    def action_view(self, name: str) -> None:
        """Show a view."""
        if name != self._place:
            self._place = name
            self._switcher.current = name
        self.hurry()

    def action_summary(self) -> None:
        """Show all environments."""
        self.action_view("summary")

    def action_environment(self, number: int) -> None:
        """Show environment `number`, from 1."""
        if self.snapshot is not None and not 1 <= number <= self.snapshot.num_envs:
            self.notify(f"{plural(self.units.environment)} are numbered 1 to {self.num_envs:,}", severity="warning")
            return
        self.env = number - 1
        self.action_view("environment")

    def action_turn(self, by: int) -> None:
        """Go through summary, environment 1 .. N, and round."""
        count = self.snapshot.num_envs if self.snapshot is not None else 0
        here = self.env + 1 if self._place == "environment" else 0
        there = (here + by) % (count + 1)
        self.action_environment(there) if there else self.action_summary()

    def action_ask_env(self) -> None:
        """Type an environment's number."""
        self._ask(f"{self.units.environment} 1 to {self.num_envs}:", self.action_environment)

    def action_page(self, by: int) -> None:
        """Turn the page of the view."""
        if self.travels and self.view.pages[1] == 1:
            self.action_travel(by * FAR)
        else:
            self.view.turn_page(by)
            self.hurry()

    def action_move(self, columns: int, rows: int) -> None:
        """Move the selection in the grid; elsewhere go through time, or to another seat, worker or part of a line."""
        if self._place == "summary":
            self.env = self._summary.moved(self.env, columns, rows)
            self.hurry()
        elif self._place == "logs":
            self._logs.scroll_lines(rows)
            self._logs.shift(columns)
            self.hurry()
        elif columns:
            self.action_travel(columns)
        elif self._place == "environment":
            self.choose_seat(rows)
        elif self._place == "workers" and rows:
            self.action_page(rows)

    def action_accept(self) -> None:
        """Restart now if one is pending, else open the selected board."""
        if self.settle(now=True):
            pass
        elif self._place == "summary":
            self.action_environment(self.env + 1)
        elif self._place == "logs" and self._logs.find():
            self.hurry()
        self.announce()

    def action_cancel(self) -> None:
        """Forget a pending restart, else go back to the summary."""
        if self.travels and self.back:
            self.action_travel(self.back)
        elif not self.pending.cancel():
            self.action_summary()
        self.announce()

    def action_search(self) -> None:
        """Search the output."""

        def answered(text: str | None) -> None:
            if text is not None:
                self._logs.search(text)
                self.action_view("logs")

        self.push_screen(Prompt("search the output:", "text"), answered)

    def action_travel(self, by: int) -> None:
        """Go through time; in the output, follow it again or go to its beginning."""
        if self._place == "logs":
            self._logs.scroll_lines(by * FAR)
            self.hurry()
        else:
            super().action_travel(by)

    def action_inspect(self) -> None:
        """Show all that is known of the environment, or no longer."""
        if not self.units.episodes:
            word = self.units.environment
            self.notify(f"all that is known of a {word} stands beside its board", severity="warning")
        elif self._place in {"summary", "environment"}:
            super().action_inspect()
        else:
            self.inspecting = True
            self.action_environment(self.env + 1)

    def action_take_over(self) -> None:
        """Play the environment by hand, seen large."""
        if self.units.episodes:
            self.action_environment(self.env + 1)
            super().action_take_over()
        else:
            self.notify(f"a {self.units.environment} plays no episodes", severity="warning")

    def action_axis(self) -> None:
        """Curves over steps or over wall time."""
        self.by_time = not self.by_time
        self.hurry()

    def action_help(self) -> None:
        """Show all keys."""
        self.push_screen(Help(self.units))

    def on_environment_opened(self, message: EnvironmentOpened) -> None:
        """A board was clicked."""
        self.action_environment(message.env + 1)

    def on_view_chosen(self, message: ViewChosen) -> None:
        """A view's name was clicked."""
        self.action_view(message.view)

    def on_summary_view_page_turned(self) -> None:
        """Look at the boards of the new page."""
        self.hurry()

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:  # noqa: ARG002 - Textual's
        """All keys by name."""
        for key in commands():
            if key.id != "palette":
                yield SystemCommand(self.units.said(key.title), f"key {key.shown}", self._runner(key.action))

    def _runner(self, action: str) -> Callable[[], Awaitable[None]]:
        async def run() -> None:
            await self.run_action(action)

        return run
