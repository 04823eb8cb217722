"""Runs as rows: a table with a line for each, and the facts of one."""

from __future__ import annotations

import time
from typing import TypeAlias

import numpy as np

from ...training.runs.folder import DIED
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
    Row,
    blank,
    fit,
    fit_ends,
    styled,
)
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

Columns: TypeAlias = tuple[list[tuple[str, int]], int]
"""Headings and widths of the columns beside the name, and the columns for the name."""


def columns_of(width: int, longest: int) -> Columns:
    """Return the columns that fit, and the columns left for names of up to `longest` characters.

    Rather than names, the curve is left out: that of the selected run is shown below the table.
    """
    columns = [(name, wide) for name, wide, least in TABLE if width + BORDER >= least]
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
    return (
        styled("▌" if selected else " ", ACCENT),
        styled(SIGNS.good if ticked else " ", GREEN),
        styled(fit_ends(run.name, room), BRIGHT if selected else TEXT, bold=selected),
        *(cell(*cells[name], wide) for name, wide in columns),
    )


def facts(run: RunOverview, width: int) -> list[Row]:
    """Return what its metadata says, or what is wrong with it."""
    if run.error:
        return [(styled(text, RED),) for text in wrapped(run.error, width)]
    metadata, goal, units = run.metadata, run.goal, run.units
    seconds = [float(row["seconds"]) for row in run.rows if "seconds" in row]
    values = [value for _, value in run.points("seconds")]
    best = f", best {readable(run.best)}" if run.best is not None else ""
    device = f" on {metadata['device']}" if metadata.get("device") else ""
    known = {
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
    return [
        (styled(fit(name, LABEL), SOFT), blank(1), styled(fit_ends(text, max(0, width - LABEL - 1)), TEXT))
        for name, text in known.items()
        if text
    ]


def curve(run: RunOverview, width: int, height: int) -> list[Row]:
    """Return the curve of its main metric."""
    found = np.array(run.points(run.units.over), float).reshape(-1, 2)
    if len(found) < 2:
        return hint("no curve yet", width)
    plot = Plot(run.units.counted, log_x=run.goal.log, log_y=run.goal.log)
    return chart([Line(found[:, 0], found[:, 1], CYAN)], width, height, plot).rows
