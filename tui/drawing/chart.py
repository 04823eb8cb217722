"""Charts of braille dots, which show the lowest and the highest value in every column."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .dots import BRAILLE, HALVES
from .numbers import clock, short
from .styles import ACCENT, FAINT, LINE, SIGNS, Row, styled

Reals = NDArray[np.float64]
LABEL = 8
SPAN = 8
STEPS = (1, 2, 5)
DOTS = BRAILLE if SIGNS.braille else HALVES


def columns_of(x: Reals, y: Reals, count: int, axis: tuple[float, float]) -> tuple[Reals, Reals]:
    """Return the lowest and the highest `y` in each of `count` columns of an axis; `x` must rise.

    Columns between two points are interpolated; those before the first and after the last point are NaN.
    """
    begin, end = axis
    span = end - begin
    at = np.clip(((x - begin) / span * (count - 1) + 0.5 if span > 0 else np.zeros(len(x))), 0, count - 1).astype(int)
    starts = np.flatnonzero(np.diff(at, prepend=-1))
    low, high = np.minimum.reduceat(y, starts), np.maximum.reduceat(y, starts)
    every = np.arange(count, dtype=float)
    outside = {"left": np.nan, "right": np.nan}
    return np.interp(every, at[starts], low, **outside), np.interp(every, at[starts], high, **outside)


def dots(low: Reals, high: Reals, axis: tuple[float, float], height: int) -> list[str]:
    """Return `height` lines of characters that show the area between `low` and `high` as a connected curve."""
    (bottom, top), tall = axis, DOTS.weights.shape[0]
    scale = (height * tall - 1) / (top - bottom) if top > bottom else 0.0
    with np.errstate(invalid="ignore"):
        lows, highs = (np.rint((values - bottom) * scale) for values in (low, high))
    # A steep step is filled halfway from either side, so that the curve has no gaps.
    reach_up = np.fmax(highs, np.floor((np.append(lows[1:], np.nan) + highs) / 2))
    reach_up = np.fmax(reach_up, np.floor((np.insert(lows[:-1], 0, np.nan) + highs) / 2))
    reach_down = np.fmin(lows, np.ceil((np.append(highs[1:], np.nan) + lows) / 2))
    reach_down = np.fmin(reach_down, np.ceil((np.insert(highs[:-1], 0, np.nan) + lows) / 2))
    level = np.arange(height * tall)[::-1, None]
    lit = (level >= reach_down) & (level <= reach_up)
    return DOTS.lines(lit)


def bounds(low: Reals, high: Reals) -> tuple[float, float]:
    """Return the ends of an axis that contains all values; a constant is in its middle."""
    if not np.isfinite(low).any():
        return 0.0, 1.0
    bottom, top = float(np.nanmin(low)), float(np.nanmax(high))
    if bottom == top:
        room = abs(bottom) * 0.1 or 0.5
        return bottom - room, top + room
    return bottom, top


def sparkline(x: Reals, y: Reals, width: int, height: int, color: str = ACCENT) -> list[Row]:
    """Return a curve without axes."""
    if len(x) < 2 or width < 1 or height < 1:
        return [(styled(" " * max(0, width)),)] * max(0, height)
    low, high = columns_of(x, y, width * DOTS.weights.shape[1], (float(x[0]), float(x[-1])))
    return [(styled(line, color),) for line in dots(low, high, bounds(low, high), height)]


class Plot(NamedTuple):
    """How a curve is drawn.

    Attributes:
        over: Unit of the x axis; empty for seconds.
        log: Whether both axes are logarithmic.
        color: Color of the curve.
    """

    over: str = ""
    log: bool = False
    color: str = ACCENT

    def placed(self, x: Reals, y: Reals) -> tuple[Reals, Reals]:
        """Return points on the axes; logarithmic axes contain only positive values."""
        if not self.log:
            return x, y
        drawn = (x > 0) & (y > 0)
        return np.log10(x[drawn]), np.log10(y[drawn])

    def value(self, place: float) -> float:
        """Return the value at a place of an axis."""
        return float(10.0**place) if self.log else place

    def spelled(self, place: float) -> str:
        """Return the label of a place of the x axis."""
        return short(self.value(place)) if self.over else clock(self.value(place))


def chart(x: Reals, y: Reals, width: int, height: int, plot: Plot) -> list[Row]:
    """Return a curve with its axes: values on the left, steps or time below."""
    x, y = plot.placed(x, y)
    inner, tall = width - LABEL - 1, height - 2
    if len(x) < 2 or inner < 8 or tall < 1:
        return [(styled("waiting for two points" if inner >= 8 else "", FAINT),)]
    begin, end = float(x[0]), float(x[-1])
    low, high = columns_of(x, y, inner * DOTS.weights.shape[1], (begin, end))
    bottom, top = bounds(low, high)
    labels = _labels(plot, bottom, top, tall)
    rows: list[Row] = [
        (
            styled(f"{labels.get(y, ''):>{LABEL}}", FAINT),
            styled("┤" if y in labels else "│", LINE),
            styled(line, plot.color),
        )
        for y, line in enumerate(dots(low, high, (bottom, top), tall))
    ]
    rule, below = _foot(plot, begin, end, inner)
    return [
        *rows,
        (styled(" " * LABEL), styled("└" + rule, LINE)),
        (styled(" " * (LABEL + 1)), styled(below, FAINT)),
    ]


def _labels(plot: Plot, bottom: float, top: float, tall: int) -> dict[int, str]:
    """The labels of the y axis by line: both ends, and those between them that fit."""
    ends = {0: short(plot.value(top)), tall - 1: short(plot.value(bottom))}
    for places in _between(plot, top, bottom, tall):
        found: dict[int, str] = {}
        for line, place in places.items():
            text, labels = short(plot.value(place)), ends | found
            if text not in labels.values() and not {line - 1, line, line + 1} & labels.keys():
                found[line] = text
        if found:
            return ends | found
    return ends


def _between(plot: Plot, first: float, last: float, count: int) -> Iterator[dict[int, float]]:
    """Yield sets of places to label, by line or column: powers of ten, finer steps, the middle."""
    if plot.log:
        powers = _powers(*sorted((first, last)))
        for steps in (STEPS[:1], STEPS):
            fine = [power + math.log10(step) for power in (powers.start - 1, *powers) for step in steps]
            yield {
                round((place - first) / (last - first) * (count - 1)): place
                for place in fine
                if min(first, last) < place < max(first, last)
            }
    if count > 1:
        yield {count // 2: first + (last - first) * (count // 2) / (count - 1)}


def _powers(bottom: float, top: float) -> range:
    """The exponents between two places of a logarithmic axis."""
    return range(math.ceil(bottom), math.floor(top) + 1)


def _foot(plot: Plot, begin: float, end: float, width: int) -> tuple[str, str]:
    """The x axis and the labels below it; a logarithmic axis has marks and labels between its ends."""
    left, last = plot.spelled(begin), plot.spelled(end)
    right = f"{last} {plot.over}".rstrip()
    if len(left) + len(right) > (width // 2 if plot.log else width - 1):
        left, right = left if len(left) + len(last) < width else "", last
    below = left + right.rjust(width - len(left))
    if not plot.log or end <= begin:
        return "─" * width, below
    found = (_labelled(plot, below, places) for places in _between(plot, begin, end, width))
    labels, below = next((item for item in found if item[0]), (set(), below))
    marks = {round((power - begin) / (end - begin) * (width - 1)) for power in _powers(begin, end)} | labels
    return "".join("┴" if column in marks else "─" for column in range(width)), below


def _labelled(plot: Plot, line: str, places: Mapping[int, float]) -> tuple[set[int], str]:
    """The columns of the labels that fit, and the line with these labels."""
    columns = set()
    for column, place in places.items():
        text = f" {plot.spelled(place)} "
        start = max(0, column - len(text) // 2)
        end = start + len(text)
        if line[start:end] == " " * len(text):
            line = line[:start] + text + line[end:]
            columns.add(column)
    return columns, line


class Axis(NamedTuple):
    """The axis of both N and speedup: from `low` to `high`, linear or by doublings."""

    low: float
    high: float
    doubling: bool

    def place(self, values: Reals) -> Reals:
        """Return the places of values: 0 at the start of the axis and 1 at its end."""
        if not self.doubling:
            return (values - self.low) / (self.high - self.low)
        places: Reals = np.log2(np.maximum(values, self.low) / self.low) / np.log2(self.high / self.low)
        return places


def axis_of(counts: list[int], speedups: list[float]) -> Axis:
    """Return an axis that separates all of `counts`: by doublings if they span more than a factor of `SPAN`."""
    most = float(max(*counts, 2))
    if most <= SPAN * min(counts):
        return Axis(0.0, most, doubling=False)
    low = min(1.0, *(speedup for speedup in speedups if speedup > 0))
    return Axis(2.0 ** math.floor(math.log2(low)), most, doubling=True)


def against_ideal(counts: list[int], speedups: list[float], axis: Axis, width: int, height: int) -> list[Row]:
    """Return speedup over N as dots and a curve, drawn over the line of ideal speedup."""
    wide = width * DOTS.weights.shape[1]
    line = np.linspace(0, 1, wide)
    ideal = np.where(np.arange(wide) % 4 == 0, line, np.nan)
    under = dots(ideal, ideal, (0.0, 1.0), height)
    across, along = axis.place(np.array(counts, float)), axis.place(np.array(speedups, float))
    low, high = columns_of(across, along, wide, (0.0, 1.0))
    over = dots(low, high, (0.0, 1.0), height)
    for one, other in zip(across.tolist(), along.tolist(), strict=True):
        x = min(width - 1, max(0, round(one * (width - 1))))
        y = min(height - 1, max(0, round((1 - other) * (height - 1))))
        over[y] = over[y][:x] + SIGNS.dot + over[y][x + 1 :]
    return [_overlaid(front, back) for front, back in zip(over, under, strict=True)]


def _overlaid(front: str, back: str) -> Row:
    """One row of two curves; the back one is visible where the front one is empty."""
    row, start = [], 0
    for at in range(1, len(front) + 1):
        if at == len(front) or (front[at] == " ") != (front[start] == " "):
            empty = front[start] == " "
            row.append(styled((back if empty else front)[start:at], FAINT if empty else ACCENT))
            start = at
    return tuple(row)
