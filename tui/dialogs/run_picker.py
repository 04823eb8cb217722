"""The dialogs of runs, to open one or to compare with some: a table, the facts of the selected run, and a filter."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from textual import work
from textual.message import Message
from textual.widgets import Input
from textual.worker import get_current_worker

from ...training.runs.overview import RunOverview, overviews
from ..drawing.panels import BORDER, beside, bordered
from ..drawing.styles import Row
from ..views.number_rows import hint
from .dialog import ListDialog
from .run_rows import columns_of, curve, facts, heading, line

PERIOD, MOST_PERIOD, SHARE = 2.0, 60.0, 0.01
"""Seconds between two readings of the disk, and the share of a core that they may take if they are not rarer."""
FACTS, MOST_FACTS, LEAST_CHART = 34, 72, 30
PANEL = ((50, 24), (20, 13), (0, 0))
"""Rows for the facts of the selected run, by the least height of the screen."""


class RunPicker(ListDialog[RunOverview, RunOverview | None]):
    """Lists the runs in a folder and those that are running; the result is the run to open.

    Args:
        parent: The folder.
        here: The process of the session that the app shows.
        name: The name of that session, since a script may have several.

    Attributes:
        here: The process of the session that the app shows.
    """

    heading, MOST_COLUMNS, FILLS = "Runs", 10_000, True

    @dataclass
    class Listed(Message):
        """The disk was read, which took `cost` seconds of a core."""

        runs: list[RunOverview]
        cost: float

    def __init__(self, parent: Path, here: int, name: str = "") -> None:
        super().__init__(Input(placeholder="type to filter: name, task, trainer, state", select_on_focus=False))
        self._folder, self.here, self._name = parent, here, name
        self._runs: list[RunOverview] | None = None
        self._columns = columns_of(0, 0)

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
        if self._runs is None:
            self.selected = next((self._key(run) for run in message.runs if self._is_shown(run)), None)
        if message.runs != self._runs:
            self._runs = message.runs
            self.draw()

    @property
    def shown(self) -> list[RunOverview]:
        """The runs that contain every word of the filter."""
        words = self.words
        return [run for run in self._runs or () if all(word in _searched(run) for word in words)]

    def _key(self, item: RunOverview) -> tuple[str, Path | None]:
        return item.name, item.folder

    def _is_shown(self, run: RunOverview) -> bool:
        return run.pid == self.here and (run.folder is not None or run.name == self._name)

    def _take(self, run: RunOverview) -> None:
        if self._is_shown(run):
            self.dismiss(None)
        elif run.pid is not None or run.resumable or run.viewable:
            self.dismiss(run)

    def _empty(self, width: int) -> list[Row]:
        if self._runs is None:
            return hint("reading the runs", width)
        nothing = "no other runs" if self._runs else f"no runs in {self._folder.resolve()}"
        return hint("no run matches the filter" if self.words else nothing, width)

    def _head(self, width: int) -> list[Row]:
        self._columns = columns_of(width, max((len(run.name) for run in self._runs or ()), default=0))
        return [heading(self._columns)]

    def _row(self, item: RunOverview, _width: int, *, selected: bool) -> Row:
        return line(item, self._columns, time.time(), selected=selected, ticked=self.ticked(item))

    def _below(self, item: RunOverview | None, width: int) -> list[Row]:
        height = next(rows for least, rows in PANEL if self.size.height >= least)
        if item is None or not height:
            return []
        inner = width - BORDER
        left = max(FACTS, min(MOST_FACTS, inner // 3)) if inner >= FACTS + LEAST_CHART else inner
        rows = facts(item, left)
        if inner > left:
            wide = inner - left - 2
            rows = beside([rows, (), curve(item, wide, height - 2)], [left, 2, wide])
        return bordered(item.name, rows, width, height, self.offer(item))

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


class OverlayPicker(RunPicker):
    """Lists the runs like the dialog of runs; Enter adds the selected one to the curves, or removes it.

    Args:
        parent: The folder of the runs.
        here: The process of the session that the app shows.
        folder: Its run's folder; empty if it has none.
        chosen: Returns the folders of the runs that are drawn.
        toggle: Draws a run of a name and a folder, or no longer; returns why that is impossible, or an empty text.
    """

    heading = "Compare with runs"

    def __init__(
        self,
        parent: Path,
        here: int,
        folder: str,
        chosen: Callable[[], Collection[Path]],
        toggle: Callable[[str, Path], str],
    ) -> None:
        super().__init__(parent, here)
        self._own, self._chosen, self._toggle = folder, chosen, toggle
        self._refused = ""

    @property
    def shown(self) -> list[RunOverview]:
        return [run for run in super().shown if not self._is_own(run)]

    def ticked(self, run: RunOverview) -> bool:
        """Return whether a run is drawn."""
        return run.folder in self._chosen()

    def _take(self, run: RunOverview) -> None:
        if run.folder is not None and not run.error:
            self._refused = self._toggle(run.name, run.folder)
            self.draw()

    def offer(self, run: RunOverview) -> str:
        if run.folder is None or run.error:
            return "it has no metrics"
        return "Enter removes it" if self.ticked(run) else self._refused or "Enter compares with it"

    def _is_own(self, run: RunOverview) -> bool:
        return run.pid == self.here or (
            bool(self._own) and run.folder is not None and run.folder.resolve() == Path(self._own)
        )


def _searched(run: RunOverview) -> str:
    return f"{run.name} {run.metadata.get('task', '')} {run.metadata.get('trainer', '')} {run.state}".lower()
