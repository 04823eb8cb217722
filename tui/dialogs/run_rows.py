"""Runs as rows: a table with a line for each, and the facts of one."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from ...training.runs.checkpoint import best_of
from ...training.runs.folder import CHECKPOINTS, DIED, RunFolder
from ...training.runs.overview import DAMAGED, LIVE, RunOverview
from ..drawing.chart import Line, Plot, chart
from ..drawing.numbers import age, clock, readable, short, whole
from ..drawing.panels import BORDER
from ..drawing.spark import BLOCKS, COLUMNS, PLAIN_BLOCKS, sparkline
from ..drawing.styles import (
    ACCENT,
    BRIGHT,
    CYAN,
    FAINT,
    GREEN,
    MAGENTA,
    RED,
    SIGNS,
    SOFT,
    TEXT,
    YELLOW,
    Row,
    blank,
    fit,
    fit_ends,
    styled,
)
from ..run_table import GroupOverview, sheet_of, value_of
from ..views.number_rows import hint, wrapped
from .episode_rows import cell

STATES = {LIVE: GREEN, "completed": TEXT, "interrupted": SOFT, "failed": RED, DIED: MAGENTA, DAMAGED: RED}
TABLE = (
    ("task", 20, 130),
    ("trainer", 9, 110),
    ("state", 13, 0),
    ("N", 7, 110),
    ("done", 8, 50),
    ("best", 10, 100),
    ("last", 10, 0),
    ("age", 8, 60),
    ("", COLUMNS + 2, 72),
)
"""Columns of the table beside the name: heading, width, and the least width of the screen that has the column."""
MOST_NAME, LABEL = 48, 10
ALWAYS = frozenset({"state", "age", ""})
"""Columns that are also there if the user has chosen others."""
LEAST_CHOSEN, LEAST_NAME = 10, 18
MOST_LINE = 60

Columns: TypeAlias = tuple[list[tuple[str, int]], int]
"""Headings and widths of the columns beside the name, and the columns for the name."""


def columns_of(width: int, longest: int, chosen: Sequence[str] = ()) -> Columns:
    """Return the columns that fit, and the columns left for names of up to `longest` characters.

    Rather than names, the curve is left out: that of the selected run is shown below the table.

    Args:
        width: Columns of the terminal for the table.
        longest: The length of the longest name.
        chosen: Names of settings and results to show instead of the usual columns.
    """
    columns = [
        (name, wide) for name, wide, least in TABLE if width + BORDER >= least and (not chosen or name in ALWAYS)
    ]
    for name in reversed(chosen):
        wide = max(LEAST_CHOSEN, len(name) + 2)
        if sum(taken for _, taken in columns) + wide + LEAST_NAME <= width:
            columns.insert(0, (name, wide))
    room = width - sum(wide for _, wide in columns) - 2
    if columns[-1][0] == "" and room < min(MOST_NAME, longest):
        room += columns.pop()[1]
    return columns, min(MOST_NAME, max(0, room))


def heading(table: Columns) -> Row:
    """Return the heading of the table."""
    columns, room = table
    return (styled(fit("  run", room + 2), FAINT), *(styled(f"{name:>{wide}}", FAINT) for name, wide in columns))


def line(run: RunOverview, table: Columns, now: float, *, selected: bool, ticked: bool = False) -> Row:
    """Return a run's line in the table."""
    columns, room = table
    values = [value for _, value in run.points("seconds")]
    cells = {
        "task": (str(run.metadata.get("task", "")), SOFT),
        "trainer": (str(run.metadata.get("trainer", "")), SOFT),
        "state": (run.state, STATES.get(run.state, TEXT)),
        "N": (short(run.metadata["num_envs"]) if "num_envs" in run.metadata else "", TEXT),
        "done": (short(run.metadata[run.units.over]) if run.units.over in run.metadata else "", TEXT),
        "best": (readable(run.best) if run.best is not None else "", TEXT),
        "last": (readable(values[-1]) if values else "", BRIGHT),
        "age": (age(now - run.when), SOFT),
        "": (sparkline(values, log=run.goal.log, blocks=BLOCKS if SIGNS.braille else PLAIN_BLOCKS), CYAN),
    }
    sheet = sheet_of(run) if any(name not in cells for name, _ in columns) else {}
    cells |= {name: (_text(value_of(sheet, name)), TEXT) for name, _ in columns if name not in cells}
    return (
        styled("▌" if selected else " ", ACCENT),
        styled(SIGNS.good if ticked else " ", GREEN),
        styled(fit_ends(run.name, room), BRIGHT if selected else TEXT, bold=selected),
        *(cell(*cells[name], wide) for name, wide in columns),
    )


def _text(value: Any) -> str:
    """Return a value of a chosen column."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "" if value is None else str(value)
    return readable(value) if isinstance(value, float) else whole(value)


def facts(run: RunOverview, width: int, checkpoint: int | None = None) -> list[Row]:
    """Return what its metadata says, or what is wrong with it.

    Args:
        run: The run.
        width: Columns of text.
        checkpoint: The index of the checkpoint that is chosen, if one is.
    """
    if isinstance(run, GroupOverview):
        return _facts_of_group(run, width)
    if run.error:
        return [(styled(text, RED),) for text in wrapped(run.error, width)]
    metadata, goal, units = run.metadata, run.goal, run.units
    seconds = [float(row["seconds"]) for row in run.rows if "seconds" in row]
    values = [value for _, value in run.points("seconds")]
    best = f", best {readable(run.best)}" if run.best is not None else ""
    device = f" on {metadata['device']}" if metadata.get("device") else ""
    notes = run.notes
    known = {
        "tags": " ".join(notes.tags),
        "note": notes.note,
        "task": str(metadata.get("task", "")),
        "trainer": f"{metadata.get('trainer', '')}{device}",
        "state": f"{run.state}, process {run.pid}" if run.pid is not None else run.state,
        "N": whole(metadata.get("num_envs")),
        units.counted: whole(metadata.get(units.over)),
        "episodes": whole(metadata.get("episodes")) if units.episodes else "",
        "trained": clock(seconds[-1]) if seconds else "",
        "started": time.strftime("%Y-%m-%d %H:%M", time.localtime(float(metadata.get("started", run.when)))),
        goal.title: readable(values[-1]) + best if values else "",
        "folder": str(run.folder or "none"),
    }
    rows = _labeled(known, width)
    if line := checkpoint_line(run, width - LABEL - 1, checkpoint):
        rows.insert(0, (styled(fit("checkpoint", LABEL), SOFT), blank(1), *line))
    return rows


def _labeled(known: Mapping[str, str], width: int) -> list[Row]:
    return [
        (styled(fit(name, LABEL), SOFT), blank(1), styled(fit_ends(text, max(0, width - LABEL - 1)), TEXT))
        for name, text in known.items()
        if text
    ]


def _facts_of_group(run: GroupOverview, width: int) -> list[Row]:
    """Return the figures over seeds."""
    if run.group is None:
        return []
    found, goal = run.group.figures(), run.group.goal
    low, high = found["low"], found["high"]
    known = {
        "seeds": f"{found['seeds']} of {len(run.group.runs)} runs with a value",
        goal.title: f"{readable(found['mean'])} mean, {readable(found['iqm'])} interquartile mean",
        "95 %": f"{readable(low)} to {readable(high)}" if low is not None else "",
        "runs": ", ".join(one.name for one in run.group.runs),
    }
    return _labeled(known, width)


def checkpoints_of(run: RunOverview) -> list[str]:
    """Return the names of the checkpoints of a run that can play, the oldest first; none of a poker solver."""
    if run.folder is None or not run.units.episodes:
        return []
    return RunFolder(run.folder).entry(CHECKPOINTS).names("step-*")


def checkpoint_line(run: RunOverview, width: int, chosen: int | None) -> Row:
    """Return a line with a dot per checkpoint, at its place among the steps, and the steps of the chosen one."""
    names = checkpoints_of(run)
    if not names or width < 2 * LABEL:
        return ()
    best = best_of(RunFolder(run.folder).entry(CHECKPOINTS)) if run.folder is not None else None
    at = len(names) - 1 if chosen is None else max(0, min(chosen, len(names) - 1))
    steps = [steps_of(name) for name in names]
    text = f" {short(steps[at])}{' best' if best is not None and best[0] == names[at] else ''}"
    room = min(MOST_LINE, width - 12)
    signs = ["─"] * room
    for index, one in enumerate(steps):
        place = round(one / max(1, steps[-1]) * (room - 1))
        is_best = best is not None and best[0] == names[index]
        signs[place] = SIGNS.good if is_best else SIGNS.dot
    chosen_place = round(steps[at] / max(1, steps[-1]) * (room - 1))
    line = "".join(signs)
    return (
        styled(line[:chosen_place], SOFT),
        styled(line[chosen_place], YELLOW if chosen is not None else TEXT, bold=True),
        styled(line[chosen_place + 1 :], SOFT),
        styled(fit(text, 12), YELLOW if chosen is not None else SOFT),
    )


def steps_of(name: str) -> int:
    """Return the steps in the name of a checkpoint."""
    digits = name.rpartition("-")[2]
    return int(digits) if digits.isdecimal() else 0


def curve(run: RunOverview, width: int, height: int) -> list[Row]:
    """Return the curve of its main metric."""
    found = np.array(run.points(run.units.over), float).reshape(-1, 2)
    if len(found) < 2:
        return hint("no curve yet", width)
    plot = Plot(run.units.counted, log_x=run.goal.log, log_y=run.goal.log)
    return chart([Line(found[:, 0], found[:, 1], CYAN)], width, height, plot).rows
