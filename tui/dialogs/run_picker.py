"""The dialog of runs: a table, the facts of the selected run, and a filter."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Input
from textual.worker import get_current_worker

from ...training.runs.overview import RunOverview, overviews
from ..drawing.panels import FRAME, beside, framed
from ..drawing.widgets import TextLines
from ..views.figures import hint
from .dialog import SELECT, InputDialog, first_shown
from .run_rows import columns_of, curve, facts, heading, line

PERIOD, MOST_PERIOD, SHARE = 2.0, 60.0, 0.01
"""Seconds between two readings of the disk, and the share of a core that they may take if they are not rarer."""
FACTS, LEAST_CHART = 34, 30


class RunPicker(InputDialog[RunOverview | None]):
    """Lists the runs in a folder and those that are running; the result is the run to open.

    Args:
        parent: The folder.
        here: The process of the session that the app shows.
        name: The name of that session, since a script may have several.

    Attributes:
        HEADING: Title of the list.
        here: The process of the session that the app shows.
    """

    HEADING = "Runs"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Close"),
        *SELECT,
    ]

    @dataclass
    class Listed(Message):
        """The disk was read, which took `cost` seconds of a core."""

        runs: list[RunOverview]
        cost: float

    def __init__(self, parent: Path, here: int, name: str = "") -> None:
        super().__init__(Input(placeholder="type to filter: name, task, trainer, state", select_on_focus=False))
        self._folder, self.here, self._name = parent, here, name
        self._runs: list[RunOverview] | None = None
        self._selected: tuple[str, Path | None] | None = None
        self._table, self._facts = TextLines(id="runs"), TextLines(id="run")

    def compose(self) -> ComposeResult:
        """A table, the facts of the selected run, and an input."""
        with Vertical():
            yield self._table
            yield self._facts
            yield self.line

    def on_mount(self) -> None:
        """Read the disk, now and periodically."""
        self._look()

    @work(thread=True, exclusive=True)
    def _look(self) -> None:
        worker, begun = get_current_worker(), time.thread_time()
        runs: list[RunOverview] = []
        with suppress(FileNotFoundError):  # a run was removed while it was read
            runs = overviews(self._folder, lambda: worker.is_cancelled)
        if not worker.is_cancelled:  # the dialog and the app end without waiting for the rest
            self.post_message(self.Listed(runs, time.thread_time() - begun))

    def on_run_picker_listed(self, message: Listed) -> None:
        """Show the runs that were found. Look again, so often that this takes at most `SHARE` of a core."""
        self.set_timer(min(MOST_PERIOD, max(PERIOD, message.cost / SHARE)), self._look)
        if message.runs != self._runs:
            self._runs = message.runs
            self.draw()

    def on_text_lines_resized(self) -> None:
        """Draw for the size of the terminal."""
        self.draw()

    def on_input_changed(self) -> None:
        """Show the runs that match the filter."""
        self.draw()

    @property
    def shown(self) -> list[RunOverview]:
        """The runs that contain every word of the filter."""
        words = self.line.value.lower().split()
        return [run for run in self._runs or () if all(word in _text(run) for word in words)]

    def _is_shown(self, run: RunOverview) -> bool:
        """Return whether the app shows the session of a run."""
        return run.pid == self.here and (run.folder is not None or run.name == self._name)

    def _at(self, shown: Sequence[RunOverview]) -> int:
        """The index of the selected run; at first, that of the session that the app shows."""
        keys = [_key(run) for run in shown]
        if self._selected is None:
            return next((index for index, run in enumerate(shown) if self._is_shown(run)), 0)
        return keys.index(self._selected) if self._selected in keys else 0

    def action_select(self, by: int) -> None:
        """Select another run."""
        shown = self.shown
        if shown:
            self._selected = _key(shown[min(len(shown) - 1, max(0, self._at(shown) + by))])
            self.draw()

    def on_input_submitted(self) -> None:
        """Take the selected run."""
        shown = self.shown
        if shown:
            self.take(shown[self._at(shown)])

    def take(self, run: RunOverview) -> None:
        """Open a run, if that is possible."""
        if self._is_shown(run):
            self.dismiss(None)
        elif run.pid is not None or run.resumable or run.viewable:
            self.dismiss(run)

    def draw(self) -> None:
        """Draw the list and the facts."""
        width, height = self._table.size
        if not width:
            return
        shown = self.shown
        at = self._at(shown)
        room = max(1, height - 3)
        first = first_shown(at, room, len(shown))
        now, inner = time.time(), width - FRAME
        columns = columns_of(inner, max((len(run.name) for run in self._runs or ()), default=0))
        rows = [heading(columns)]
        rows += [
            line(run, columns, now, selected=run is shown[at], ticked=self.ticked(run))
            for run in shown[first : first + room]
        ]
        if self._runs is None:
            rows = hint("reading the runs", width - FRAME)
        elif not shown:
            text = "no run matches the filter" if self._runs else f"no runs in {self._folder.resolve()}"
            rows = hint(text, width - FRAME)
        note = f"{at + 1} of {len(shown)}" if shown else ""
        self._table.show(framed(self.HEADING, rows, width, height, note))
        self._show_facts(shown[at] if shown else None)

    def _show_facts(self, run: RunOverview | None) -> None:
        """Draw the facts of a run beside the curve of its main metric."""
        width, height = self._facts.size
        if run is None or not height:
            self._facts.show([])
            return
        inner = width - FRAME
        left = FACTS if inner >= FACTS + LEAST_CHART else inner
        rows = facts(run, left)
        if inner > left:
            wide = inner - left - 2
            rows = beside([rows, (), curve(run, wide, height - 2)], [left, 2, wide])
        self._facts.show(framed(run.name, rows, width, height, self.offer(run)))

    def ticked(self, run: RunOverview) -> bool:  # noqa: ARG002 - nothing is ticked to open one run
        """Return whether a run has a tick."""
        return False

    def offer(self, run: RunOverview) -> str:
        """Return what Enter does."""
        if run.pid is not None:
            return "Enter returns to it" if self._is_shown(run) else "Enter shows it"
        if run.resumable:
            return "Enter resumes it"
        return "Enter shows its last state" if run.viewable else "no checkpoint to resume from"


def _key(run: RunOverview) -> tuple[str, Path | None]:
    return run.name, run.folder


def _text(run: RunOverview) -> str:
    """The text that the filter searches."""
    return f"{run.name} {run.metadata.get('task', '')} {run.metadata.get('trainer', '')} {run.state}".lower()
