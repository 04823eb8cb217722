"""Views drawn from snapshots that do not change, as text: what the files in `snapshots/` contain."""

from __future__ import annotations

import asyncio
import string
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.segment import Segment
from textual.events import Mount
from textual.geometry import Region
from textual.strip import Strip
from textual.widgets import Input

from pac.training.telemetry.blocks import TelemetryReader
from pac.training.telemetry.snapshot import ViewRequest, take_snapshot
from pac.training.units import RETURN
from pac.tui.app.app import PacApp
from pac.tui.connections.connection import SessionConnection
from pac.tui.connections.session_group import SeenSession
from pac.tui.curve_options import CurveOptions
from pac.tui.drawing.palettes import DARK
from pac.tui.messages import SessionLost, SnapshotTaken
from pac.tui.terminal.svg import colors, lines_of

from .fake_session import FakeSession, Keys, until

NOW = 1_700_000_000.0
"""When all snapshots are taken."""
NAMED = {
    getattr(DARK, name): name[0] if name != "stepping" else "p"
    for name in ("stepping", "line", "faint", "soft", "text", "bright", "accent", "green", "red", "yellow", "magenta")
} | {DARK.cyan: "c", DARK.orange: "o"}
"""The letters of the palette's colors; other pairs of a color and a background get capitals in order."""


LETTERS = string.ascii_uppercase + string.digits + "αβγδεζηθικλμνξοπρστυφχψωΓΔΘΛΞΠΣΦΨΩ"


def text_of(rows: Iterable[Iterable[Segment]], *, styles: bool = False) -> str:
    """Return rows as text. With `styles`, the letters of their styles follow, and what the letters mean."""
    drawn = [list(row) for row in rows]
    lines = ["".join(segment.text for segment in row).rstrip() for row in drawn]
    if not styles:
        return "\n".join(lines) + "\n"
    known: dict[tuple[str, str], str] = {}
    painted = ["".join(_letters(row, known)).rstrip() for row in drawn]
    meanings = [f"{letter}: {front} on {back}" for (front, back), letter in known.items()]
    return "\n".join([*lines, "-" * 8, *painted, *meanings]) + "\n"


def _letters(row: list[Segment], known: dict[tuple[str, str], str]) -> Iterator[str]:
    """The letter of each column's style; none below a space on the usual background."""
    for text, style, _ in row:
        assert style is not None
        front, back = colors(style)
        if back == DARK.ground:
            letter = NAMED.get(front) or known.setdefault((front, back), LETTERS[len(known) % len(LETTERS)])
            yield from (" " if sign == " " else letter for sign in text)
        else:
            yield known.setdefault((front, back), LETTERS[len(known) % len(LETTERS)]) * len(text)


def _lines(app: PacApp) -> list[Strip]:
    """The lines of the screen; of a dialog, its part of them."""
    lines = lines_of(app.screen)
    if len(app.screen_stack) == 1:
        return lines
    box = Region.from_union([widget.region for widget in app.screen.displayed_children])
    return [line.crop(box.x, box.right) for line in lines[box.y : box.bottom]]


RETURNS = ViewRequest(count=0, curves=(RETURN.name,))


class _Connection(SessionConnection):
    """A connection to whatever session the stage shows."""

    shown: FakeSession

    @property
    def directory(self) -> Path | None:
        return self.shown.directory

    def call(self, command: str, **_arguments: object) -> dict[str, Any]:  # noqa: ARG002 - as the base
        """Send nothing."""
        return {}


class _App(PacApp):
    """The app, which draws when the stage says so."""

    def on_mount(self, event: Mount) -> None:  # type: ignore[override]
        event.prevent_default()

    def on_snapshot_taken(self, message: SnapshotTaken) -> None:
        message.prevent_default()

    def on_session_lost(self, message: SessionLost) -> None:
        message.prevent_default()


class Stage:
    """One app that draws all views, since starting one takes longer than drawing."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner()
        self._connection = _Connection(lambda: self._connection.shown)
        self._app: _App | None = None

    def close(self) -> None:
        """End the app."""
        if self._app is not None:
            self._runner.run(self._test.__aexit__(None, None, None))
        self._connection.close()
        self._runner.close()

    def screen(
        self,
        fake: FakeSession,
        size: tuple[int, int],
        *keys: str,
        view: str = "summary",
        env: int = 0,
        styles: bool = False,
    ) -> str:
        """Return the screen as text: a view of a session in a terminal of this size, after some keys."""
        return self._runner.run(self._drawn(fake, size, keys, view, env, styles=styles))

    async def _open(self) -> _App:
        if self._app is None:
            self._app = _App(self._connection)
            self._test = self._app.run_test()
            await self._test.__aenter__()
            self._pilot = Keys(self._app)
        return self._app

    async def _drawn(self, fake: FakeSession, size, keys, view: str, env: int, *, styles: bool) -> str:
        self._connection.shown = fake
        app = await self._open()
        while len(app.screen_stack) > 1:
            app.pop_screen()
        app.state.view, app.state.env, app.state.seat, app.state.curves = view, env, 0, CurveOptions()
        app.state.snapshot = None
        app.debugger.inspecting = app.debugger.playing = False
        app.debugger.reset()
        app.training.pending.cancel()
        app.training.requested_pause = None
        if app.size != size:
            await self._pilot.resize_terminal(*size)
            await until(lambda: app.screen.size == size, "another size")
        app.painter.restyle(colors=True)
        app.painter.show_view()
        app.query_one("#members-tabs").display = bool(fake.others)
        app.painter.output.search("")
        app.painter.steps.forget()
        if view != "logs":
            app.painter.view.turn_page(-1000)
        await self._settled(app, fake)
        if keys:
            await self._pilot.press(*keys)
            await self._settled(app, fake)
        return text_of(_lines(app), styles=styles)

    async def _settled(self, app: _App, fake: FakeSession) -> None:
        """Draw until nothing changes."""
        before = None
        reader = TelemetryReader(fake.directory)
        for _ in range(8):
            app.state.members = tuple(
                SeenSession(f"rank {number}", "", take_snapshot(TelemetryReader(each.directory), RETURNS))
                for number, each in enumerate(fake.others)
            )
            app.state.snapshot = take_snapshot(reader, replace(app.painter.request(), episodes=True))
            app.scheduler.expire_all()
            app.show_snapshot(app.state.snapshot)
            app.painter.draw_header()
            app.draw_footer()
            for _ in range(10):
                await asyncio.sleep(0)
            await self._pilot.pause(rounds=1)
            for field in app.screen.query(Input):
                field.cursor_blink = False
            now = [line.text for line in _lines(app)]
            if now == before:
                return
            before = now
        raise AssertionError("the screen still changes:\n" + "\n".join(now))
