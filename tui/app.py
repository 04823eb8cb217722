"""The app. It only wires: snapshots to views, keys to commands, events to toasts."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

from textual.app import ComposeResult, SystemCommand
from textual.binding import BindingType
from textual.screen import Screen

from ..training.telemetry.records import Level, Phase
from ..training.telemetry.snapshot import Snapshot, ViewRequest
from .connection import SessionConnection
from .dialogs.dialog import Dialog
from .drawing.plain import PlainScreen
from .drawing.widgets import TextLines
from .header_footer import Tabs, head, keys, system
from .keys import bindings, commands
from .messages import SessionLost, SnapshotTaken
from .navigation import NavigatedApp
from .refresh import FIGURES, FOCUS, GRID, SYSTEM
from .scrubber import scrubber
from .svg import lines_of, svg_of
from .views import ViewUpdate
from .views.status_message import failed_with_boards, failure_rows

TOASTS: dict[Level, Literal["information", "warning", "error"]] = {
    Level.GOOD: "information",
    Level.WARNING: "warning",
    Level.ERROR: "error",
    Level.FATAL: "error",
}
FAILURE_SHARE = 8  # of the screen's lines, one may tell why a session failed
PERIODS = {"summary": GRID, "environment": FOCUS}


class PacApp(NavigatedApp):
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

    def __init__(self, connection: SessionConnection) -> None:
        super().__init__(connection)
        self._look: ViewRequest | None = None
        self._toasted = 0
        self._told: tuple[Phase, Mapping[str, Any]] | None = None
        self._resized = False
        self._head, self._tabs, self._status, self._keys = (
            TextLines(id="head"),
            Tabs(),
            TextLines(id="status"),
            TextLines(id="keys"),
        )
        self._scrubber = TextLines(id="scrubber")

    def get_default_screen(self) -> PlainScreen:
        """The screen that the views stand on."""
        return PlainScreen(id="_default")

    def compose(self) -> ComposeResult:
        """A head, the views, a foot."""
        yield self._head
        yield self._tabs
        yield self.switcher
        yield self._scrubber
        yield self._status
        yield self._keys

    def on_mount(self) -> None:
        """Begin to look."""
        self._tick()

    def on_text_lines_resized(self) -> None:
        """Draw everything for the new sizes, once all of them are known."""
        if not self._resized:
            self._resized = True
            self.call_after_refresh(self._redraw)

    def _redraw(self) -> None:
        self._resized = False
        self.hurry()

    # -- from the session to the screen -------------------------------------------------------------------------------

    def _tick(self) -> None:
        """Ask for a look, as often as the view needs it and the app may cost."""
        if not self.is_running:
            return
        period = GRID if self.pending.wanted is not None else PERIODS.get(self.place, FIGURES)
        self.set_timer(period * self.scheduler.stretch, self._tick)
        self.scheduler.measure()
        self.settle()
        self._request()
        if self.scheduler.due("system", SYSTEM) or self.pending.wanted is not None:
            self.announce()
        if self.snapshot is None:
            self._draw_head()
        # Files grow without news, and the last news may have come before figures were due.
        elif self.snapshot.phase is Phase.STARTING or self.place == "logs" or self.scheduler.owed("figures", "closely"):
            self._show(self.snapshot)

    def _request(self) -> None:
        """Request a snapshot of what is looked at; tell the session when that changes."""
        look = self.closely(self.view.look(self.env))
        if look != self._look:
            self._look = look
            self.command("look", **{**asdict(look), "curves": list(look.curves)})
        self._snapshots.request(look)

    def hurry(self) -> None:
        """Look at the session now and draw all of it."""
        if not self.is_running:
            return
        self.scheduler.at_once()
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
            self.scheduler.at_once()
            self.announce()
        self._show(snapshot)
        if snapshot.phase is Phase.ENDED:
            self.leave()

    def _show(self, snapshot: Snapshot) -> None:
        """Give the view what it is due."""
        if self.lost is not None:
            snapshot = replace(snapshot, phase=Phase.FAILED, message=f"{self.lost.title}: {self.lost}")
        figures = self.scheduler.due("figures", FIGURES)
        snapshot = self.as_of_then(snapshot)
        closely = self.scheduler.due("closely", GRID) or figures or self.moved(snapshot)
        self.view.show(ViewUpdate(snapshot, time.time(), self.env, figures, self.by_time, self.inspecting, closely))
        self._show_time(snapshot)
        if figures:
            self._draw_head()

    def _show_time(self, snapshot: Snapshot) -> None:
        """Show where a paused environment stands in time, or below what is left of a failed session why it failed."""
        (width, height), fell = self.size, failed_with_boards(snapshot)
        self._scrubber.display = self.travels or fell
        if fell:
            rows = failure_rows(snapshot, width, max(1, height // FAILURE_SHARE))
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
        self._tabs.draw(self.place, self.env, self.snapshot, note)

    def announce(self) -> None:
        """Draw the foot; a note goes before the figures of the system, or the keys where there is but one line."""
        note, low, width = self.note(), not self._status.display, self._keys.size.width
        figures = system(self.snapshot, self.scheduler.cost, width, self.controlled_by)
        self._status.show([note if note and not low else figures])
        self._keys.show([note if note and low else keys(width, self.units.env)])

    def _toast(self, snapshot: Snapshot) -> None:
        """Show what happened since the last look."""
        for event in snapshot.events:
            if event.number > self._toasted and event.level in TOASTS:
                self.notify(event.text, severity=TOASTS[event.level])
        self._toasted = max((event.number for event in snapshot.events), default=self._toasted)

    def on_session_lost(self, message: SessionLost) -> None:
        """Keep the error on the screen; without anything to show, leave it to the command line."""
        self.lost = message.error
        if self.snapshot is None:
            self.leave()
        else:
            self.hurry()

    def picture(self) -> str:
        """Return what is on the screen as an SVG."""
        return svg_of(lines_of(self.screen))

    def action_picture(self) -> None:
        """Save a picture of the screen in the working directory."""
        path = Path(time.strftime("pac-tui-%Y%m%d-%H%M%S.svg")).resolve()
        try:
            path.write_text(self.picture())
        except OSError as error:
            self.notify(f"cannot write {path}: {error.strerror}", title="Screenshot", severity="error")
        else:
            self.notify(f"saved {path}", title="Screenshot")

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:  # noqa: ARG002 - Textual's
        """All keys by name."""
        for key in commands():
            if key.id != "palette":
                yield SystemCommand(self.units.said(key.title), f"key {key.shown}", self._runner(key.action))

    def _runner(self, action: str) -> Callable[[], Awaitable[None]]:
        async def run() -> None:
            await self.run_action(action)

        return run
