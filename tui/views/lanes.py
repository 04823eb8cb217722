"""What threads and processes did last: a lane for each, colored by phase."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

import numpy as np

from ...training.telemetry.timeline import Lane
from ..drawing.numbers import duration
from ..drawing.panels import Section
from ..drawing.styles import (
    ACCENT,
    BRIGHT,
    CYAN,
    FAINT,
    GREEN,
    GROUND,
    LINE,
    MAGENTA,
    ORANGE,
    SOFT,
    YELLOW,
    Row,
    blank,
    fit,
    styled,
    width_of,
)
from .number_rows import COLORS, NAMES

NAME = 16
OTHERS = (CYAN, YELLOW, BRIGHT, GREEN, MAGENTA, ACCENT, ORANGE)
"""Colors of phases that are not those of a training thread; those of the phases that are shown come last."""
IDLE = "idle"
WAITS = (IDLE, "wait")
EVALUATION = "evaluation"
"""The lane that comes last: what it shows is beside the training."""
HALF = 2


OVERLAP = {"efficiency": "overlap efficiency", "collector_idle": "training idle", "learner_idle": "learner idle"}
"""Figures of collecting while learning, and their names below the lanes."""


def lanes_section(lanes: Sequence[Lane], lines: int, metrics: Mapping[str, float] | None = None) -> Section | None:
    """Return a panel with `lines` lines for each lane over the time that all lanes cover; None without lanes.

    Args:
        metrics: The last metrics of the trainer, of which those of overlap are shown.
    """
    drawn = sorted((lane for lane in lanes if lane.laps), key=lambda lane: lane.name == EVALUATION)
    if not drawn:
        return None
    laps = [lap for lane in drawn for lap in lane.laps]
    busy = [lap for lap in laps if lap.phase not in WAITS]  # what waits in a pause moves nothing
    begin, end = max(lane.laps[0].begin for lane in drawn), max(lap.end for lap in busy or laps)
    colors = colors_of(list(dict.fromkeys(lap.phase for lane in drawn for lap in lane.laps)))

    def rows(width: int, _: int) -> list[Row]:
        room = max(1, width - NAME)
        found: list[Row] = []
        for lane in drawn:
            phases = _phases(lane, np.linspace(begin, end, HALF * room + 1))
            line = _line([colors.get(phase, GROUND) for phase in phases])
            found.append((styled(fit(lane.name, NAME - 1), SOFT), blank(1), *line))
            found += [(blank(NAME), *line)] * (lines - 1)
        return [*found, *_legend(colors, width), *_overlap(metrics or {})]

    return Section("Timeline", rows, note=f"last {duration(end - begin)}", whole=True)


def colors_of(names: Sequence[str]) -> dict[str, str]:
    """Return the colors of all phases, given in order of appearance."""
    known = {**COLORS, **dict.fromkeys(WAITS, LINE)}
    others = [name for name in names if name not in known]
    taken = {known[name] for name in names if name in known}
    free = sorted(OTHERS, key=lambda color: color in taken)
    return {name: known.get(name) or free[others.index(name) % len(free)] for name in names}


def _phases(lane: Lane, edges: np.ndarray[tuple[int], np.dtype[np.float64]]) -> list[str]:
    """The phase that took most of the time between each two edges; empty where it took less than half of it."""
    names = list(dict.fromkeys(lap.phase for lap in lane.laps))
    times = np.array([(lap.begin, lap.end) for lap in lane.laps]).reshape(-1)
    taken = np.empty((len(names) + 1, len(edges) - 1))
    taken[-1] = np.diff(edges) / HALF
    for row, name in enumerate(names):
        lengths = [(0.0, lap.end - lap.begin if lap.phase == name else 0.0) for lap in lane.laps]
        taken[row] = np.diff(np.interp(edges, times, np.cumsum(lengths)))
    return [(*names, "")[index] for index in taken.argmax(axis=0).tolist()]


def _line(colors: Sequence[str]) -> Row:
    """Colors, two to a character."""
    pairs = zip(colors[::HALF], colors[1::HALF], strict=True)
    runs = ((pair, len(list(run))) for pair, run in groupby(pairs))
    return tuple(styled("▌" * count, left, ground=right) for (left, right), count in runs)


LANE_NAMES = {**NAMES, "environment": "environment, transport"}
"""A lap of a lane contains both; what is waiting for workers is known only of many."""


def _overlap(metrics: Mapping[str, float]) -> list[Row]:
    """The efficiency of collecting while learning and the idle times, if they are known."""
    found = {label: metrics.get(f"overlap/{name}") for name, label in OVERLAP.items()}
    shown = [
        f"{label} {value:.0%}" if label.endswith(IDLE) else f"{label} {value:.2f} of 2"
        for label, value in found.items()
        if value is not None
    ]
    return [(styled("   ".join(shown), SOFT),)] if shown else []


def _legend(colors: Mapping[str, str], width: int) -> list[Row]:
    rows: list[Row] = [(blank(NAME),)]
    for name, color in colors.items():
        part = (styled("■ ", color), styled(f"{LANE_NAMES.get(name, name)}  ", FAINT))
        if width_of((*rows[-1], *part)) > width and len(rows[-1]) > 1:
            rows.append((blank(NAME),))
        rows[-1] = (*rows[-1], *part)
    return rows
