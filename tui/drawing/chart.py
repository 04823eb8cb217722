"""Charts of braille dots, which show the lowest and the highest value in every column over a tinted area."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from rich.segment import Segment
from rich.style import Style

from .dots import BRAILLE, HALVES, PLAIN_HALVES, Dots
from .numbers import short
from .styles import ACCENT, BRIGHT, FAINT, GROUND, LINE, RED, SIGNS, SOFT, YELLOW, Row, mixed, style_of, styled
from .ticks import Ends, evened, foot, levels, place_of, value_at

Reals = NDArray[np.float64]
LABEL = 5
FLAT = 0.1
"""The least range of an axis, as a share of its largest value. In a tight range, noise would look like a collapse."""
TINT = 0.16
"""Share of a curve's color in the area below it."""
LEAST_WIDTH = 8


def front() -> Dots:
    """Return the characters of curves."""
    return BRAILLE if SIGNS.braille else HALVES


def behind() -> Dots:
    """Return the characters of curves behind others. In ASCII they differ without colors, too."""
    return BRAILLE if SIGNS.braille else PLAIN_HALVES


def columns_of(x: Reals, y: Reals, count: int, axis: Ends) -> tuple[Reals, Reals]:
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


def reach(low: Reals, high: Reals, axis: Ends, height: int) -> tuple[Reals, Reals]:
    """Return the lowest and the highest dot of a connected curve in each column, of `height` lines of characters."""
    bottom, top = axis
    scale = (height * front().tall - 1) / (top - bottom) if top > bottom else 0.0
    with np.errstate(invalid="ignore"):
        lows, highs = (np.rint((values - bottom) * scale) for values in (low, high))
    # A steep step is filled halfway from either side, so that the curve has no gaps.
    nothing = np.full(1, np.nan)
    up = np.fmax(highs, np.floor((np.concatenate((lows[1:], nothing)) + highs) / 2))
    up = np.fmax(up, np.floor((np.concatenate((nothing, lows[:-1])) + highs) / 2))
    down = np.fmin(lows, np.ceil((np.concatenate((highs[1:], nothing)) + lows) / 2))
    return np.fmin(down, np.ceil((np.concatenate((nothing, highs[:-1])) + lows) / 2)), up


def dots(low: Reals, high: Reals, axis: Ends, height: int) -> list[str]:
    """Return `height` lines of characters that show the area between `low` and `high` as a connected curve."""
    return front().lines(_bits(*reach(low, high, axis, height), height))


def _bits(down: Reals, up: Reals, height: int) -> NDArray[np.bool_]:
    level = np.arange(height * front().tall)[::-1, None]
    return (level >= down) & (level <= up)


def bounds(low: Reals, high: Reals) -> Ends:
    """Return the ends of an axis that contains all values; a flat curve is in its middle."""
    if not np.isfinite(low).any():
        return 0.0, 1.0
    bottom, top = float(np.nanmin(low)), float(np.nanmax(high))
    room = (FLAT * max(abs(bottom), abs(top)) - (top - bottom)) / 2
    if room > 0 or bottom == top:
        return bottom - (room or 0.5), top + (room or 0.5)
    return bottom, top


NOTHING: Reals = np.zeros(0)


class Line(NamedTuple):
    """A curve.

    Attributes:
        x: Rising values, `(points,)`.
        dash: Dots that are drawn and dots that are left out, in turn; an empty tuple for a continuous curve.
        broken: Rising values, `(breaks,)`, where it is NaN or infinite.
    """

    x: Reals
    y: Reals
    color: str = ACCENT
    dash: tuple[int, ...] = ()
    broken: Reals = NOTHING
    values: Reals = NOTHING

    def within(self, begin: float, end: float) -> Line:
        """Return the part of the curve between two values of `x`; where it leaves this range, it is interpolated."""
        first, last = np.searchsorted(self.x, begin, "left"), np.searchsorted(self.x, end, "right")
        x, y = self.x[first:last], self.y[first:last]
        if not len(self.x) or (first == 0 and last == len(self.x)):
            return self
        if first == len(self.x) or last == 0:
            return self._replace(x=x[:0], y=y[:0])
        if first > 0:
            x, y = np.insert(x, 0, begin), np.insert(y, 0, np.interp(begin, self.x, self.y))
        if last < len(self.x):
            x, y = np.append(x, end), np.append(y, np.interp(end, self.x, self.y))
        return self._replace(x=x, y=y)


def layered(lines: Sequence[Line], across: Ends, up: Ends, width: int, height: int) -> list[Row]:
    """Return curves on common axes: the first one, at least two dots thick, over a tinted area and thin other ones."""
    kind, wide = front(), width * front().wide
    codes = np.zeros((height, width), int)
    owners = np.zeros((height, width), int)
    below = np.zeros((height, width), bool)
    for number, line in enumerate(lines):
        if not len(line.x):
            continue
        down, top = reach(*columns_of(line.x, line.y, wide, across), up, height)
        if number == 0:
            below = _below(down, height)
            down, top = np.where(top == down, np.maximum(down - 1, 0), down), np.maximum(top, 1)
        bits = _bits(down, top, height)
        if line.dash:
            bits &= np.arange(wide) % sum(line.dash) < line.dash[0]
        found = kind.codes(bits)
        free = (codes == 0) & (found > 0)
        codes[free], owners[free] = found[free], number
    letters = kind.table[codes]
    if len(lines) > 1:
        other = owners > 0
        letters[other] = behind().table[codes[other]]
    grounds = (GROUND, mixed(lines[0].color, GROUND, TINT))
    styles = [style_of(line.color, ground) for line in lines for ground in grounds]
    return _styled(letters, 2 * owners + below, styles)


def _below(down: Reals, height: int) -> NDArray[np.bool_]:
    """Return which characters are below the lowest dots of a curve."""
    tall, wide = front().tall, front().wide
    middles = tall * np.arange(height)[::-1, None] + tall // 2
    lowest: NDArray[np.bool_] = middles <= np.fmin.reduce(down.reshape(-1, wide), axis=1)
    return lowest


def _styled(letters: NDArray[np.str_], looks: NDArray[np.int64], styles: Sequence[Style]) -> list[Row]:
    """Return rows of letters `(height, width)`, each letter in one of `styles`, whose indices are `looks`."""
    height, width = letters.shape
    edges: list[list[int]] = [[0] for _ in range(height)]
    for y, x in np.argwhere(np.diff(looks, axis=1)).tolist():
        edges[y].append(x + 1)
    rows = []
    for line, look, starts in zip(letters.tolist(), looks.tolist(), edges, strict=True):
        text = "".join(line)
        ends = [*starts[1:], width]
        rows.append(
            tuple(Segment(text[start:end], styles[look[start]]) for start, end in zip(starts, ends, strict=True))
        )
    return rows


def sparkline(x: Reals, y: Reals, width: int, height: int, color: str = ACCENT) -> list[Row]:
    """Return a curve without axes."""
    if len(x) < 2 or width < 1 or height < 1:
        return [(styled(" " * max(0, width)),)] * max(0, height)
    return layered([Line(x, y, color)], (float(x[0]), float(x[-1])), bounds(y, y), width, height)


class Plot(NamedTuple):
    """How a chart is drawn.

    Attributes:
        unit: Unit of the x axis; empty for seconds.
        log_x: Whether the x axis is logarithmic. Such axes contain only positive values.
        log_y: Whether the y axis is logarithmic.
        span: The first and the last value of the x axis; by default those of the curves.
        from_zero: Whether a linear y axis begins at 0, for rates and times. Their noise would look like a collapse.
    """

    unit: str = ""
    log_x: bool = False
    log_y: bool = False
    span: tuple[float, float] | None = None
    from_zero: bool = False

    def placed(self, line: Line) -> Line:
        """Return the part of a curve that is on the axes, by its places."""
        x, y = line.x, line.y
        if self.log_x or self.log_y:
            drawn = ((x > 0) | (not self.log_x)) & ((y > 0) | (not self.log_y))
            line = line._replace(x=x[drawn], y=y[drawn])
        if self.span is not None:
            line = line.within(*self.span)
        x, y = line.x, line.y
        return line._replace(x=np.log10(x) if self.log_x else x, y=np.log10(y) if self.log_y else y)

    def across(self, lines: Sequence[Line]) -> Ends:
        """Return the ends of the x axis, for curves by their places."""
        first = min(float(line.x[0]) for line in lines if len(line.x))
        if self.span is None:
            return first, max(float(line.x[-1]) for line in lines if len(line.x))
        begin, end = self.span
        return first if self.log_x and begin <= 0 else place_of(begin, log=self.log_x), place_of(end, log=self.log_x)

    def up(self, y: Reals) -> Ends:
        """Return the ends of the y axis, for places of values."""
        low, high = bounds(y, y)
        return (0.0, high) if self.from_zero and not self.log_y and low > 0 else (low, high)


class Axes(NamedTuple):
    """Where values are on a chart.

    Attributes:
        left: Columns to the left of the area of the curves.
        width: Columns of this area.
        height: Its lines.
        across: Ends of the x axis.
        up: Ends of the y axis.
        plot: How the chart is drawn.
    """

    left: int
    width: int
    height: int
    across: Ends
    up: Ends
    plot: Plot

    def columns(self, x: Reals) -> NDArray[np.int64]:
        """Return the columns of the area in which values of the x axis are; outside of it for others."""
        if self.plot.log_x:
            x = np.log10(np.maximum(x, np.finfo(float).tiny))
        (begin, end), wide = self.across, front().wide
        dots = (x - begin) / ((end - begin) or 1.0) * (self.width * wide - 1) + 0.5
        found: NDArray[np.int64] = np.floor(dots / wide).astype(int)
        return found

    def line(self, y: float) -> int:
        """Return the line in which a value of the y axis is; one at an edge for a value beyond it."""
        if self.plot.log_y and y <= 0:
            return self.height - 1
        (bottom, top), tall = self.up, front().tall
        dot = (place_of(y, log=self.plot.log_y) - bottom) / ((top - bottom) or 1.0) * (self.height * tall - 1)
        return min(self.height - 1, max(0, self.height - 1 - int(round(dot) // tall)))

    def value(self, column: int) -> float:
        """Return the value of the x axis in the middle of a column of the area."""
        begin, end = self.across
        return value_at(begin + (column + 0.5) / self.width * (end - begin), log=self.plot.log_x)


Note: TypeAlias = tuple[float, str]
"""A place on the x axis, and what happened there."""


class Chart(NamedTuple):
    """A drawn chart: its rows, and where values are on it; None if it has no curve."""

    rows: list[Row]
    axes: Axes | None = None

    def noted(self, notes: Sequence[Note]) -> Chart:
        """Return the chart with a dotted vertical line at each note, and its text beside it if there is room."""
        axes = self.axes
        if axes is None:
            return self
        rows = list(self.rows)
        places = axes.columns(np.array([x for x, _ in notes])).tolist()
        shown = [(axes.left + at, text) for at, (_, text) in zip(places, notes, strict=True) if 0 <= at < axes.width]
        for column, _ in shown:
            for line in range(axes.height):
                if _is_blank(rows[line], column, 1):
                    rows[line] = _replaced(rows[line], column, "┊", YELLOW)
            rows[axes.height] = _replaced(rows[axes.height], column, SIGNS.up, YELLOW)
        for column, text in shown:
            lines, shorter = range(axes.height), text.partition(" ")[0]
            spots = ((line, at, words) for words in (text, shorter) for line in lines for at in _beside(column, words))
            fits = (spot for spot in spots if spot[1] >= axes.left and _is_blank(rows[spot[0]], spot[1], len(spot[2])))
            for line, at, words in islice(fits, 1):
                for index, letter in enumerate(words):
                    rows[line] = _replaced(rows[line], at + index, letter, YELLOW)
        return Chart(rows, axes)

    def marked(self, x: float, y: float | None) -> list[Row]:
        """Return the rows with a vertical line at `x`, and a dot at the value `y` of the main curve if it has one."""
        axes = self.axes
        if axes is None:
            return self.rows
        column = int(axes.columns(np.array([x]))[0])
        if not 0 <= column < axes.width:
            return self.rows
        at = axes.line(y) if y is not None else -1
        signs = [(SIGNS.dot, BRIGHT) if line == at else ("│", SOFT) for line in range(axes.height)]
        marked = [
            _replaced(row, axes.left + column, *sign) for row, sign in zip(self.rows[: axes.height], signs, strict=True)
        ]
        return [*marked, *self.rows[axes.height :]]


def _beside(column: int, text: str) -> tuple[int, int]:
    """Return where a text begins that is beside a column: on its right, on its left."""
    return column + 1, column - len(text)


def _is_blank(row: Row, column: int, count: int) -> bool:
    """Return whether there are so many columns from one on, and nothing in them."""
    text = "".join(segment.text for segment in row)[column : column + count]
    return len(text) == count and not text.strip(f" {front().table[0]}")


def _replaced(row: Row, column: int, sign: str, color: str) -> Row:
    """Return a row with another character in a column, on the same background."""
    start = 0
    for index, segment in enumerate(row):
        at = column - start
        if at < len(segment.text):
            ground = segment.style.bgcolor.name if segment.style and segment.style.bgcolor else GROUND
            before, after = segment._replace(text=segment.text[:at]), segment._replace(text=segment.text[at + 1 :])
            mark = segment._replace(text=sign, style=style_of(color, ground, bold=True))
            return (*row[:index], *([before] if at else []), mark, *([after] if after.text else []), *row[index + 1 :])
        start += len(segment.text)
    return row


def chart(lines: Sequence[Line], width: int, height: int, plot: Plot) -> Chart:
    """Return curves with their axes, the main one first: values on the left, steps or time below."""
    placed = [plot.placed(line) for line in lines]
    tall = height - 2
    y = np.concatenate([line.y for line in placed])
    up = plot.up(y) if plot.log_y else evened(plot.up(y), tall)
    labels = {tall - 1 - line: short(value) for line, value in levels(up, tall, log=plot.log_y).items()}
    margin = max(LABEL, *map(len, labels.values())) if labels else LABEL
    inner = width - margin - 1
    if max(len(line.x) for line in placed) < 2 or inner < LEAST_WIDTH or tall < 1:
        few = all(len(line.x) < 2 for line in lines)
        text = "waiting for two points" if few else "no points in this range"
        return Chart([(styled(text if inner >= LEAST_WIDTH else "", FAINT),)])
    axes = Axes(margin + 1, inner, tall, plot.across(placed), up, plot)
    rule, below = foot(axes.across, inner, plot.unit, log=plot.log_x)
    rows: list[Row] = [
        (styled(f"{labels.get(at, ''):>{margin}}", FAINT), styled("┤" if at in labels else "│", LINE), *row)
        for at, row in enumerate(layered(placed, axes.across, up, inner, tall))
    ]
    for column in dict.fromkeys(axes.columns(lines[0].broken).tolist()):
        if 0 <= column < inner:
            rows[-1] = _replaced(rows[-1], axes.left + column, SIGNS.broken, RED)
    return Chart(
        [
            *rows,
            (styled(" " * margin), styled("└" + rule, LINE)),
            (styled(" " * (margin + 1)), styled(below, FAINT)),
        ],
        axes,
    )
