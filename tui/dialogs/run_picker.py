"""The dialogs of runs, to open one or to compare with some: a table, the facts of the selected run, and a filter."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from textual import work
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import Input
from textual.worker import get_current_worker

from ...envs import BadParameter, PacError, UnknownName
from ...training.runs.overview import RunOverview, overviews
from ..curve_options import OverlayKey
from ..drawing.panels import BORDER, beside, bordered
from ..drawing.styles import Row
from ..other_curves import LogOverview, LogReader
from ..preferences import preferences
from ..preferences_file import keep_runs
from ..run_table import GroupOverview, check_names, chosen, grouped, order_of, sheet_of, split_names
from ..views.number_rows import hint
from .dialog import ListDialog
from .prompt import Prompt
from .run_editing import EDITS, REMOVING, folder_of
from .run_rows import checkpoints_of, columns_of, curve, facts, heading, line, steps_of

PERIOD, MOST_PERIOD, SHARE = 2.0, 60.0, 0.01
"""Seconds between two readings of the disk, and the share of a core that they may take if they are not rarer."""
FACTS, MOST_FACTS, LEAST_CHART = 34, 72, 30
PANEL = ((50, 24), (20, 13), (0, 0))
"""Rows for the facts of the selected run, by the least height of the screen."""


CONDITION = "?"
PATHS = ("/", "./", "../", "~")
EDIT_KEYS = {"ctrl+t": "tag", "ctrl+n": "note", "ctrl+r": "rename", "ctrl+x": REMOVING}
KEYS = "^G seeds · ^O columns · ^S sort · ^T tags · ^N note · ^R rename · ^X remove"
CHECKPOINTS = " · ← → choose a checkpoint"
LEAST_FOR_KEYS = 20


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
    PLACEHOLDER: ClassVar[str] = "type to filter: name, task, trainer, state, tag; or ?CONDITION such as ?return > 100"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "checkpoint(-1)", "Checkpoint", priority=True),
        Binding("right", "checkpoint(1)", "Checkpoint", priority=True),
        Binding("ctrl+g", "group", "Seeds", priority=True),
        Binding("ctrl+o", "columns", "Columns", priority=True),
        Binding("ctrl+s", "sort", "Sort", priority=True),
        *(Binding(key, f"edit('{name}')", name, priority=True) for key, name in EDIT_KEYS.items()),
    ]

    @dataclass
    class Listed(Message):
        """The disk was read, which took `cost` seconds of a core."""

        runs: list[RunOverview]
        cost: float

    class CurveRead(Message):
        """The curve of another program was read."""

    def __init__(self, parent: Path, here: int, name: str = "") -> None:
        super().__init__(Input(placeholder=self.PLACEHOLDER, select_on_focus=False))
        self._folder, self.here, self._name = parent, here, name
        self._runs: list[RunOverview] | None = None
        self._groups: list[RunOverview] | None = None
        self._checkpoint: tuple[object, int] | None = None
        self._incomplete = ""
        self._columns = columns_of(0, 0)

    def on_mount(self) -> None:
        """Read the disk, now and periodically."""
        self._look()

    @work(thread=True, exclusive=True)
    def _look(self) -> None:
        worker, begun = get_current_worker(), time.thread_time()
        runs: list[RunOverview] = []
        with suppress(FileNotFoundError):  # a run was removed while it was read
            runs = self._arranged(overviews(self._folder, lambda: worker.is_cancelled))
        if not worker.is_cancelled:  # the dialog and the app end without waiting for the rest
            self.post_message(self.Listed(runs, time.thread_time() - begun))

    def _arranged(self, runs: list[RunOverview]) -> list[RunOverview]:
        """Return runs in the order that the user has chosen."""
        with suppress(UnknownName):  # none has such a value yet
            if name := preferences().runs.sort:
                return [runs[index] for index in order_of([sheet_of(run) for run in runs], name)]
        return runs

    def on_run_picker_listed(self, message: Listed) -> None:
        """Show the runs that were found. Look again, so often that this takes at most `SHARE` of a core."""
        self.set_timer(min(MOST_PERIOD, max(PERIOD, message.cost / SHARE)), self._look)
        if self._runs is None:
            self.selected = next((self._key(run) for run in message.runs if self._is_shown(run)), None)
        if message.runs != self._runs:
            self._runs = message.runs
            if self._groups is not None:
                self._groups = grouped(self._runs)
            self.draw()

    @property
    def shown(self) -> list[RunOverview]:
        """The runs that contain every word of the filter, or fulfil its condition."""
        runs = (self._groups if self._groups is not None else self._runs) or []
        if self.text.startswith(CONDITION):
            return self._fulfilling(runs, self.text.removeprefix(CONDITION))
        words = self.words
        return [run for run in runs if all(word in _searched(run) for word in words)]

    def _fulfilling(self, runs: list[RunOverview], condition: str) -> list[RunOverview]:
        """Return the runs that fulfil a condition; all while it is not complete."""
        self._incomplete = ""
        if not condition.strip():
            return runs
        try:
            hits = chosen([sheet_of(run) for run in runs], condition)
        except BadParameter as error:
            self._incomplete = str(error)
            return runs
        return [run for run, hit in zip(runs, hits, strict=True) if hit]

    def _foot(self, item: RunOverview | None, width: int, room: int) -> list[Row]:
        if self.text.startswith(CONDITION) and self._incomplete and not self.error:
            return hint(self._incomplete, width)
        return super()._foot(item, width, room) or self._keys(width)

    def _keys(self, width: int) -> list[Row]:
        """Return what keys do, in one line if there is room."""
        text = KEYS + CHECKPOINTS if len(KEYS + CHECKPOINTS) <= width else KEYS
        return hint(text, width) if self.size.height >= LEAST_FOR_KEYS and len(text) <= width else []

    def _key(self, item: RunOverview) -> tuple[str, Path | None]:
        return item.name, item.folder

    def _is_shown(self, run: RunOverview) -> bool:
        return run.pid == self.here and (run.folder is not None or run.name == self._name)

    def _take(self, run: RunOverview) -> None:
        if self._checkpoint is not None and self._checkpoint[0] == self._key(run) and (names := checkpoints_of(run)):
            at = min(self._checkpoint[1], len(names) - 1)
            self.dismiss(replace(run, checkpoint=str(steps_of(names[at]))))
        elif isinstance(run, GroupOverview):
            self.refused("", "these are several runs: Ctrl+G lists them one by one")
        elif self._is_shown(run):
            self.dismiss(None)
        elif run.pid is not None or run.resumable or run.viewable:
            self.dismiss(run)

    def _empty(self, width: int) -> list[Row]:
        if self._runs is None:
            return hint("reading the runs", width)
        nothing = "no other runs" if self._runs else f"no runs in {self._folder.resolve()}"
        return hint("no run matches the filter" if self.words else nothing, width)

    def _head(self, width: int) -> list[Row]:
        longest = max((len(run.name) for run in self._groups or self._runs or ()), default=0)
        self._columns = columns_of(width, longest, preferences().runs.columns)
        return [heading(self._columns)]

    def _row(self, item: RunOverview, _width: int, *, selected: bool) -> Row:
        return line(item, self._columns, time.time(), selected=selected, ticked=self.ticked(item))

    def _below(self, item: RunOverview | None, width: int) -> list[Row]:
        height = next(rows for least, rows in PANEL if self.size.height >= least)
        if item is None or not height:
            return []
        inner = width - BORDER
        left = max(FACTS, min(MOST_FACTS, inner // 3)) if inner >= FACTS + LEAST_CHART else inner
        rows = facts(item, left, self._chosen_of(item))
        if inner > left:
            wide = inner - left - 2
            rows = beside([rows, (), curve(item, wide, height - 2)], [left, 2, wide])
        return bordered(item.name, rows, width, height, self.offer(item))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave the arrows to a text in the input."""
        if action == "checkpoint" and self.text:
            return False
        return super().check_action(action, parameters)

    def action_checkpoint(self, by: int) -> None:
        """Choose another checkpoint of the selected run."""
        run = self.item
        if run is None or isinstance(run, GroupOverview) or not (names := checkpoints_of(run)):
            return
        before = self._chosen_of(run)
        at = len(names) - 1 if before is None else max(0, min(len(names) - 1, before + by))
        self._checkpoint = self._key(run), at
        self.draw()

    def _chosen_of(self, run: RunOverview) -> int | None:
        """Return the index of the chosen checkpoint of a run; None if none is."""
        return self._checkpoint[1] if self._checkpoint is not None and self._checkpoint[0] == self._key(run) else None

    def action_group(self) -> None:
        """Show runs that differ only in their seeds as one, or one by one again."""
        self._groups = grouped(self._runs or []) if self._groups is None else None
        self.select_first()

    def action_columns(self) -> None:
        """Ask which columns to show, and keep them."""
        columns = ",".join(preferences().runs.columns)

        def take(text: str) -> None:
            names = split_names(text)
            check_names(names, [sheet_of(run) for run in self._runs or ()], "column")
            keep_runs(preferences().runs.model_copy(update={"columns": names}))

        self._ask("columns, such as learning_rate,return (none for the usual ones):", columns, take)

    def action_sort(self) -> None:
        """Ask by what to sort, and keep it."""

        def take(text: str) -> None:
            name = text.strip()
            if name:
                check_names([name.removeprefix("-")], [sheet_of(run) for run in self._runs or ()], "name to sort by")
            keep_runs(preferences().runs.model_copy(update={"sort": name}))

        self._ask("sort by, such as return or -loss/value (none for the newest first):", preferences().runs.sort, take)

    def action_edit(self, name: str) -> None:
        """Ask for tags, a note or another name of the selected run, or whether to remove it."""
        if (run := self.item) is None:
            return
        edit = EDITS[name]
        try:
            folder_of(run)
            question = edit.question(run)
        except PacError as error:
            self.refused("", str(error))
            return
        self._ask(question, edit.value(run), lambda text: edit.act(run, text))

    def _ask(self, question: str, value: str, take: Callable[[str], None]) -> None:
        """Ask a question; what is wrong with the answer is shown."""

        def answered(text: str | None) -> None:
            self.error = ""
            if text is not None:
                try:
                    take(text)
                except PacError as error:
                    self.error = str(error)
            self.draw()
            self._look()

        self.app.push_screen(Prompt(question, "text", value), answered)

    def ticked(self, run: RunOverview) -> bool:  # noqa: ARG002 - nothing is ticked to open one run
        """Return whether a run has a tick."""
        return False

    def offer(self, run: RunOverview) -> str:
        """Return what Enter does."""
        if isinstance(run, GroupOverview):
            return "Ctrl+G lists its runs"
        if self._chosen_of(run) is not None:
            return "Enter has this checkpoint play"
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
        drawn: Returns what is drawn.
        toggle: Draws a run of a name and a folder or the mean of several folders, or no longer; returns why that is
            impossible, or an empty text.
    """

    heading = "Compare with runs"
    PLACEHOLDER = "type to filter, or the path of a log of TensorBoard, W&B, Stable-Baselines3 or Lightning"

    def __init__(
        self,
        parent: Path,
        here: int,
        folder: str,
        drawn: Callable[[], Collection[OverlayKey]],
        toggle: Callable[[str, Path, tuple[Path, ...]], str],
    ) -> None:
        super().__init__(parent, here)
        self._own, self._drawn_runs, self._toggle = folder, drawn, toggle
        self._refused = ""
        self._logs: list[RunOverview] = []
        self._reader = LogReader()

    @property
    def shown(self) -> list[RunOverview]:
        if self._is_path:
            return self._logs
        return [run for run in super().shown if not self._is_own(run)]

    @property
    def _is_path(self) -> bool:
        """Whether the input is the path of logs."""
        return self.text.startswith(PATHS)

    def _arranged(self, runs: list[RunOverview]) -> list[RunOverview]:
        """Return runs in the order that the user has chosen, and the logs of other programs beside them."""
        found = self._reader.find(self._folder) if self._folder.is_dir() else []
        return [*super()._arranged(runs), *found]

    def on_run_picker_listed(self, message: RunPicker.Listed) -> None:
        """Show what was found, and read the curves of logs."""
        super().on_run_picker_listed(message)
        found = [run for run in message.runs if isinstance(run, LogOverview)]
        if found and not self._is_path:  # else those at the path are being read
            self._read_curves(found)

    @work(thread=True, exclusive=True, group="logs")
    def _read_curves(self, found: list[RunOverview]) -> None:
        worker = get_current_worker()
        self._reader.read(found, lambda: worker.is_cancelled, lambda: self.post_message(self.CurveRead()))

    def on_run_picker_curve_read(self) -> None:
        """Show the curve that was read."""
        self.draw()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Look for logs where the path leads."""
        super().on_input_changed(event)
        if self._is_path:
            self._logs = []
            self._look_there(Path(self.text).expanduser())

    @work(thread=True, exclusive=True, group="path")
    def _look_there(self, path: Path) -> None:
        worker = get_current_worker()
        try:
            found = self._reader.find(path) if path.exists() else []
        except OSError:
            return
        if not worker.is_cancelled:
            self._logs = found
            self.app.call_from_thread(self._show_logs)

    def _show_logs(self) -> None:
        self.draw()
        self._read_curves(self._logs)

    def ticked(self, run: RunOverview) -> bool:
        """Return whether a run is drawn."""
        return (run.folder, run.members) in self._drawn_runs()

    def _take(self, run: RunOverview) -> None:
        if run.folder is not None and not run.error:
            self._refused = self._toggle(run.name, run.folder, run.members)
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
    facts = (run.name, run.metadata.get("task", ""), run.metadata.get("trainer", ""), run.state, *run.notes.tags)
    return " ".join(map(str, facts)).lower()
