"""The dialog of hot lines: where the training's time goes, line by line, sampled while the dialog is open."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from textual import work
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.worker import get_current_worker

from ...backends.profiling.kinds import ENVIRONMENT, IDLE, LEARNER, OTHER, POLICY, WAITING
from ...backends.profiling.spying import NEEDS, py_spy, spied
from ...envs import PacError
from ...envs.files import read_text
from ...training.profile import HotPlace, Malformed, Profile, shares_near
from ...training.session.control import SessionClient
from ..drawing.numbers import percent
from ..drawing.panels import BORDER, bordered
from ..drawing.styles import ACCENT, BRIGHT, CYAN, FAINT, GREEN, MAGENTA, SOFT, TEXT, YELLOW, Row, bar, fit, styled
from ..views.flame import at_path, flame_of, moved, place, render
from ..views.number_rows import hint
from .dialog import ListDialog

PART, PARTS = 1.0, 10
"""Seconds that are sampled at a time, and how many of these are shown."""
PACE = 0.2
"""The shortest time between two answers in s, however soon a session answers."""
OUTSIDE, OUTSIDE_PARTS = 2.0, 5
"""The same for processes that are sampled from outside."""
MOST_LINES = 100
MOST_SOURCE = 4 << 20
SHARE, KIND, WHO = 7, 12, 20
"""Columns of the share, the kind and the process."""
PANEL = ((44, 17), (30, 11), (20, 8), (0, 0))
"""Rows for the source of the selected line, by the least height of the screen."""
COLORS = {ENVIRONMENT: GREEN, POLICY: CYAN, LEARNER: MAGENTA, OTHER: TEXT, WAITING: YELLOW, IDLE: SOFT}


class HotLines(ListDialog[HotPlace, None]):
    """Lists the lines of all processes by their share of the time, and shows the source of the selected one.

    Args:
        client: Makes a connection to the session that only this dialog uses.
        here: Whether the session runs on this machine, where its source is.
    """

    heading, MOST_COLUMNS, FILLS = "Hot lines", 10_000, True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f", "flame", "Flame view"),
        Binding("backspace", "zoom_out", "Zoom out"),
        Binding("p", "next_process", "Flame view of the next process"),
        Binding("left", "across(-1)", "Left", priority=True),
        Binding("right", "across(1)", "Right", priority=True),
    ]

    @dataclass
    class Sampled(Message):
        """The session has answered, or cannot."""

        answer: Mapping[str, Any] | None
        error: str = ""
        outside: bool = False

    def __init__(self, client: Callable[[], SessionClient], *, here: bool) -> None:
        super().__init__()
        self._client, self._here = client, here
        self._parts: deque[Mapping[str, Any]] = deque(maxlen=PARTS)
        self._outside: deque[Mapping[str, Any]] = deque(maxlen=OUTSIDE_PARTS)
        self._elsewhere: set[int] = set()
        self._profile = Profile()
        self._flame = False
        self._process = ""
        self._zoom: tuple[int, ...] = ()
        self._cursor: tuple[int, ...] = ()
        self._lines: list[HotPlace] = []
        self._sources: dict[str, list[str]] = {}

    def on_mount(self) -> None:
        """Sample as long as the dialog is open."""
        self._sample()

    @work(thread=True, exclusive=True)
    def _sample(self) -> None:
        worker = get_current_worker()
        try:
            with closing(self._client()) as client:
                while not worker.is_cancelled:
                    begun = time.monotonic()
                    self.post_message(self.Sampled(client.call("profile", seconds=PART)))
                    time.sleep(max(0.0, begun + PACE - time.monotonic()))
        except PacError as error:
            self.post_message(self.Sampled(None, str(error)))

    @work(thread=True, exclusive=True, group="outside")
    def _sample_outside(self) -> None:
        worker = get_current_worker()
        reached = True
        while reached and not worker.is_cancelled:
            found = spied(sorted(self._elsewhere), OUTSIDE)
            reached = any("stacks" in one for one in found)
            if found and not worker.is_cancelled:
                self.post_message(self.Sampled({"processes": found, "elsewhere": ()}, outside=True))

    def on_hot_lines_sampled(self, message: Sampled) -> None:
        """Show what was sampled in the last seconds."""
        self.error = message.error
        if message.answer is not None:
            (self._outside if message.outside else self._parts).append(message.answer)
            self._profile = Profile()
            try:
                for part in (*self._parts, *self._outside):
                    self._profile.add(part)
            except Malformed as error:
                self._parts.clear()
                self.error = str(error)
            if self._profile.elsewhere - self._elsewhere and self._here:
                self._elsewhere |= self._profile.elsewhere
                self._sample_outside()
            self._lines = self._profile.lines()[:MOST_LINES]
        self.draw()

    # -- the flame view -----------------------------------------------------------------------------------------------

    def action_flame(self) -> None:
        """Show the flame view, or the lines again."""
        self._flame = not self._flame
        self.draw()

    def action_next_process(self) -> None:
        """Show the next process in the flame view; after the last, all."""
        names = ["", *sorted({one["process"] for one in self._profile.processes()})]
        at = names.index(self._process) if self._process in names else -1
        self._process, self._zoom, self._cursor = names[(at + 1) % len(names)], (), ()
        self.draw()

    def action_zoom_out(self) -> None:
        """Show the caller of what is as wide as the flame view."""
        self._zoom = self._zoom[:-1]
        self.draw()

    def action_across(self, by: int) -> None:
        """Select another function of the flame view."""
        self._move(by, 0)

    def action_select(self, by: int) -> None:
        if self._flame:
            self._move(0, by)
        else:
            super().action_select(by)

    def action_take(self) -> None:
        """Zoom into the selected function of the flame view."""
        if self._flame:
            self._zoom = self._cursor
            self.draw()

    def _move(self, across: int, down: int) -> None:
        if self._flame:
            width, height = self._flame_size
            root = flame_of(self._profile.stacks(self._process))
            top, zoom = at_path(root, self._zoom)
            self._cursor = moved(place(top, width, height - 1, zoom), self._cursor, across, down)
            self.draw()

    @property
    def _flame_size(self) -> tuple[int, int]:
        return max(1, self.size.width - BORDER), max(2, self.size.height - 2)

    def draw(self) -> None:
        """Draw the lines, or the flame view."""
        if not self._flame:
            super().draw()
            return
        root = flame_of(self._profile.stacks(self._process), self._process or "all processes")
        rows = render(root, self._flame_size, self._zoom, self._cursor)
        note = "f lines  p process  ↑↓←→ Enter zoom  Backspace out"
        self.show_bordered("Flame", rows, self.size.width, note)

    @property
    def shown(self) -> list[HotPlace]:
        """The hottest lines."""
        return self._lines

    def _key(self, item: HotPlace) -> tuple[str, int, str, str, str]:
        return item.file, item.line, item.function, item.process, item.thread

    def _empty(self, width: int) -> list[Row]:
        return hint("sampling" if not self._parts else "nothing has run: is the session paused?", width)

    def _head(self, width: int) -> list[Row]:
        rows: list[Row] = []
        for one in self._profile.processes():
            who = f"{one['process']} {one['thread']}"
            parts = [
                styled(f"  {kind} {percent(100 * share)}", COLORS[kind])
                for kind, share in one["kinds"].items()
                if share >= 0.005
            ]
            rows.append((styled(fit(who, WHO), SOFT), *parts))
        most = max(1, self.size.height // 6)
        left = len(rows) - most
        more: list[Row] = [(styled(f"and {left} more", FAINT),)] if left > 0 else []
        return [*rows[:most], *more, (styled(_columns("share", "", "for", "process", width) + "line", FAINT),)]

    def _row(self, item: HotPlace, width: int, *, selected: bool) -> Row:
        wide, color = _bar(width), BRIGHT if selected else TEXT
        who = f"{item.process} {item.thread}"
        name = f"{Path(item.file).name}:{item.line} {item.function}"
        before = SHARE + wide + KIND + (WHO if wide else 0)
        return (
            styled(f"{percent(100 * item.share, 1):>{SHARE - 1}} ", color, bold=selected),
            *bar(item.share, wide - 1, COLORS.get(item.kind, TEXT)),
            styled(" " * bool(wide)),
            styled(fit(item.kind, KIND), COLORS.get(item.kind, TEXT)),
            styled(fit(who, WHO - 1) + " " if wide else "", SOFT),
            styled(fit(name, max(0, width - before)), color, bold=selected),
        )

    def _note(self, at: int, count: int) -> str | Row:
        seconds = f"last {self._profile.seconds:.0f} s" if self._parts else ""
        return ", ".join(filter(None, (str(super()._note(at, count)), seconds, "f flame view")))

    def _foot(self, item: HotPlace | None, width: int, room: int) -> list[Row]:
        rows = super()._foot(item, width, room)
        if self._profile.elsewhere:
            some = ", ".join(map(str, sorted(self._profile.elsewhere)[:4]))
            text = f"not sampled: processes ({some})"
            silent = next(iter(self._profile.silent.values()), "")
            text += f"; {silent}" if silent else "" if py_spy() else f"; {NEEDS}"
            rows.append((styled(fit(text, width), SOFT),))
        return rows

    def _below(self, item: HotPlace | None, width: int) -> list[Row]:
        height = next(rows for least, rows in PANEL if self.size.height >= least)
        if item is None or not height:
            return []
        rows = self._source(item, width - BORDER, height - 2)
        return bordered(f"{item.function}, {item.file}", rows, width, height)

    def _source(self, item: HotPlace, width: int, room: int) -> list[Row]:
        """Return the lines around a line, each with its share."""
        if not self._here:
            return hint("the source is on the machine of the session", width)
        if item.file not in self._sources:
            try:
                self._sources[item.file] = read_text(Path(item.file), MOST_SOURCE).splitlines()
            except (PacError, OSError) as error:
                self._sources[item.file] = []
                return hint(f"the source cannot be read: {error}", width)
        source, shares = self._sources[item.file], shares_near(self._lines, item)
        first = max(1, min(item.line - room // 2, len(source) - room + 1))
        rows: list[Row] = []
        for number in range(first, min(len(source), first + room - 1) + 1):
            share, color = shares.get(number), BRIGHT if number == item.line else TEXT
            shown = percent(100 * share, 1) if share else ""
            left = (styled(f"{shown:>7} ", ACCENT), styled(f"{number:>5} ", FAINT))
            text = source[number - 1].expandtabs(4)
            rows.append((*left, styled(fit(text, max(0, width - 14)), color, bold=number == item.line)))
        return rows or hint("the file has no such line any more", width)


def _bar(width: int) -> int:
    """Return the columns of a bar; 0 if there is no room for it."""
    return 0 if width < 70 else min(30, width // 8)


def _columns(share: str, line: str, kind: str, who: str, width: int) -> str:
    """Return the heading of all columns but the last."""
    wide = _bar(width)
    return f"{share:>{SHARE - 1}} {line:<{wide}}{kind:<{KIND}}" + (f"{who:<{WHO}}" if wide else "")
