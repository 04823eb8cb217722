"""The measure of success: its value in large digits, how it changed, and its curve."""

from __future__ import annotations

import numpy as np

from ...training.telemetry.snapshot import Snapshot
from ...training.units import RETURN, Figure, first_of
from ..drawing.chart import bounds
from ..drawing.dots import HALVES
from ..drawing.numbers import age, headline
from ..drawing.panels import Section
from ..drawing.styles import BRIGHT, FAINT, GREEN, RED, SIGNS, SOFT, Row, blank, spread, styled, width_of
from .base import ViewUpdate
from .curves import Curves
from .number_rows import hint

RECENT = 0.25
"""The part of the training over which the change is measured."""
STEADY = 0.1
"""A smaller change, as a share of the axis, is neither good nor bad."""
GAP, TINY = 2, 1e-12
LINES = 3  # of large digits
ROWS = range(4, -1, -1)
FONT = {
    "0": 0o75557, "1": 0o26227, "2": 0o71747, "3": 0o71717, "4": 0o55711, "5": 0o74717, "6": 0o74757, "7": 0o71111,
    "8": 0o75757, "9": 0o75717, "+": 0o02720, "e": 0o75747, "k": 0o45655, "M": 0o57755, "G": 0o74557,
}  # fmt: skip
"""Five rows of three dots, a digit of the number for each row."""
NARROW = {".": [[0], [0], [0], [0], [1]], "-": [[0, 0], [0, 0], [1, 1], [0, 0], [0, 0]]}


def goal_of(snapshot: Snapshot) -> tuple[Figure, float | None]:
    """Return the measure of success and its value, as of the last iteration; None if it is not known yet."""
    goal = first_of(snapshot.description.figures, snapshot.metrics)
    known = snapshot.metrics.get(goal.name)
    if known is None and goal == RETURN and snapshot.state["episodes"]:
        known = float(snapshot.state["return_mean"])
    return goal, known


def section(update: ViewUpdate, curves: Curves, lines: int, *, fills: bool = False) -> Section:
    """Return the panel of the measure of success, of `lines` lines, or at least as many if it fills."""
    goal, value = goal_of(update.snapshot)
    curve = curves.section(update, goal.name)
    first = "episode" if update.snapshot.description.units.episodes else "iteration"

    def rows(width: int, height: int) -> list[Row]:
        if value is None:
            waiting = hint(f"waiting for the first {first}", width)[:height]
            return [*waiting, *[()] * (height - len(waiting))]
        return _rows(value, _change(update, goal), curve, width, height)

    fixed = rows if fills else lambda width, _: rows(width, lines)
    return Section(curve.title, fixed, fills=fills, more=curve.more, least=lines)


def _rows(value: float, change: Row, curve: Section, width: int, height: int) -> list[Row]:
    """The number and its change, and the curve below them, in `height` lines."""
    rows = [*_number(headline(value), change, width, height), *([()] if height > 2 * LINES else [])][:height]
    room = height - len(rows)
    return [*rows, *(curve.rows(width, room) if room else ())]


def _change(update: ViewUpdate, goal: Figure) -> Row:
    """Return how much the measure has changed lately, in green if that is better, and in which time."""
    curve = update.snapshot.curves.get(goal.name)
    if curve is None or len(curve.values) < 2:
        return ()
    if not np.isfinite(curve.seconds[[0, -1]]).all():
        return ()
    since = float(curve.seconds[-1]) - RECENT * float(curve.seconds[-1] - curve.seconds[0])
    at = min(len(curve.values) - 2, int(curve.seconds.searchsorted(since)))
    values = curve.values.astype(float)
    if not np.isfinite(values[[at, -1]]).all():
        return ()
    change = values[-1] - values[at]
    places = np.log10(np.maximum(values, TINY)) if goal.log else values
    low, high = bounds(places, places)
    color, sign = SOFT, "~"
    if abs(places[-1] - places[at]) > STEADY * (high - low):
        sign = SIGNS.up if change > 0 else SIGNS.down
        better = {"higher": change > 0, "lower": change < 0}.get(goal.better)
        color = SOFT if better is None else GREEN if better else RED
    return (
        styled(f"{sign} {headline(abs(change))}", color, bold=True),
        styled(f" in {age(float(curve.seconds[-1] - curve.seconds[at]))}", FAINT),
    )


def _number(text: str, change: Row, width: int, height: int) -> list[Row]:
    """Return a number in large digits if there is room for them, with its change beside or below it if it fits."""
    lines = big(text)
    if not SIGNS.braille or len(lines[0]) > width or height < len(lines):
        return [spread((styled(text, BRIGHT, bold=True),), change, width)]
    if len(lines[0]) + GAP + width_of(change[:1]) > width:
        return [*((styled(line, BRIGHT),) for line in lines), *([change] if height > len(lines) else [])]
    side: list[Row] = [(), change[:1], change[1:]]
    return [(styled(line, BRIGHT), blank(GAP), *beside) for line, beside in zip(lines, side, strict=True)]


def big(text: str) -> list[str]:
    """Return a number in `LINES` lines, each character three columns wide or less, with gaps of one column."""
    gap = np.zeros((len(ROWS), 1), bool)
    parts = [part for letter in text for part in (gap, _dots(letter))]
    return HALVES.lines(np.pad(np.hstack(parts[1:]), ((1, 0), (0, 0))))


def _dots(letter: str) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    rows = FONT.get(letter, 0)
    return np.array(
        NARROW.get(letter) or [[rows >> 3 * row + column & 1 for column in (2, 1, 0)] for row in ROWS], bool
    )
