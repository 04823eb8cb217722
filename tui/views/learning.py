"""Learning curves: every metric over steps, frames or time, and those of other runs behind them."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from textual.events import MouseDown, MouseEvent, MouseMove, MouseScrollDown, MouseScrollUp

from ...training.telemetry.snapshot import Curve, Snapshot, ViewRequest
from ...training.units import STEPPED
from ..curve_options import CurveOptions, Extent, Over, axis_of
from ..drawing.chart import Axes, Reals
from ..drawing.panels import BORDER, Rows, Section, columns, shares
from ..drawing.styles import Row, fit, width_of
from ..messages import CurvePointed, CurvesZoomed
from .base import LinesView, ViewUpdate
from .curve_head import Head, head_rows
from .curves import (
    SLACK,
    Curves,
    all_curves,
    awaited,
    extent_of,
    latest,
    notes_of,
    plot_of,
    title_of,
    usually_log,
    value_near,
    values_at,
)
from .number_rows import hint

MOST = 12
CHART = (36, 8)
LEAST_HEIGHT = 10
"""Lines from which on there is always a line above the charts."""
LEAST_TITLE = 8
WHEEL = 0.8
"""Factor by which one step of the wheel zooms."""


class Place(NamedTuple):
    """Where a chart is drawn in the view: its first column, first line and lines, and where values are on it."""

    left: int
    top: int
    lines: int
    axes: Axes


class LearningView(LinesView):
    """As many charts as are legible, in pages.

    Attributes:
        extent: The range of all curves of the page; None before there is one.
    """

    ID = "learning"

    def __init__(self) -> None:
        super().__init__()
        self.extent: Extent | None = None
        self._names: list[str] = []
        self._wide: list[str] = []
        self._head = 0
        self._known: tuple[str, Curve] | None = None
        self._options = CurveOptions()
        self._clicked = ""
        self._over: Over = STEPPED.over
        self._places: dict[str, Place] = {}
        self._missing: set[str] = set()
        self._curves = Curves()

    def restyle(self, *, colors: bool) -> None:  # noqa: ARG002 - curves have no pieces
        """Forget the drawn curves."""
        self._curves = Curves()

    @property
    def shape(self) -> tuple[int, int]:
        """Charts side by side and on top of each other."""
        if self._options.large:
            return 1, 1
        across = min(4, max(1, self.size.width // CHART[0]))
        down = max(1, (self.size.height - self._head) // CHART[1])
        return across, min(down, MOST // across)

    @property
    def _layout(self) -> list[list[list[str]]]:
        """The names on each page, by line. Charts with logarithmic axes have twice the height and the full width."""
        across, down = self.shape
        if down == 1 == across:
            return [[[name]] for name in self._names]
        wide, names = [name for name in self._names if name in self._wide], self._names
        lines = [[name] for name in wide for _ in range(min(2, max(1, down - 1)))]
        rest = [name for name in names if name not in wide]
        lines += [rest[start : start + across] for start in range(0, len(rest), across)]
        return [lines[start : start + down] for start in range(0, len(lines), down)]

    @property
    def page(self) -> list[list[str]]:
        """The names on this page, by line."""
        found = self._layout
        return found[min(self._page, len(found) - 1)] if found else []

    def turn_to(self, name: str, *, large: bool) -> None:
        """Show the page with a curve, or with the one that was clicked last or is the first on the page."""
        shown = [each for line in self.page for each in line]
        name = name or (self._clicked if self._clicked in shown else next(iter(shown), ""))
        self._options = replace(self._options, large=large)
        pages = [index for index, page in enumerate(self._layout) if any(name in line for line in page)]
        self._page = next(iter(pages), 0)

    def request(self, env: int) -> ViewRequest:  # noqa: ARG002 - curves are not of one environment
        """Request the curves of this page."""
        return ViewRequest(count=0, curves=tuple(dict.fromkeys(name for line in self.page for name in line)))

    def show(self, update: ViewUpdate) -> None:
        """Draw the curves when they are due, and those of a new page as soon as they are known."""
        if not update.numbers and not (self._missing and self._missing <= update.snapshot.curves.keys()):
            return
        every, options, snapshot = all_curves(update.snapshot), update.curves, update.snapshot
        self._names, self._options = options.shown(every), options
        self._over = options.over or snapshot.description.units.over
        self._wide = [name for name in self._names if usually_log(snapshot, name)]
        width, height = self._lines.size
        marked = options.cursor is not None or options.window is not None
        self._head = (height >= LEAST_HEIGHT or marked) + bool(options.overlays) if every else 0
        self._pages = max(1, len(self._layout))
        self._page = min(self._page, self._pages - 1)
        names = list(dict.fromkeys(name for line in self.page for name in line))
        self.extent = extent_of(snapshot, names, options)
        self._known = _longest(snapshot, names)
        self._places = {}
        self._missing = {name for name in names if name in snapshot.metrics} - snapshot.curves.keys()
        if not names:
            text = "all curves are hidden" if every else "waiting for the first iteration"
            self._lines.show([*self._head_rows(snapshot, 0, 0, width), *hint(text, width)])
            return
        linear, rows = self._charts(snapshot, width, height - self._head)
        hidden = len(every) - len(self._names)
        self._lines.show([*self._head_rows(snapshot, hidden, linear, width), *rows])

    def _head_rows(self, snapshot: Snapshot, hidden: int, linear: int, width: int) -> list[Row]:
        known = self._known[1] if self._known is not None else None
        return head_rows(snapshot, Head(self._options, self.extent, known, hidden, linear), width)[: self._head]

    def _charts(self, snapshot: Snapshot, width: int, height: int) -> tuple[int, list[Row]]:
        """Return how many charts of the page are linear because they have values <= 0, and the rows of all."""
        lines, rows, linear = self.page, list[Row](), 0
        heights = dict(zip(range(len(lines)), shares(height, len(lines)), strict=True))
        for _, run in groupby(heights, key=lambda index: lines[index]):
            indices = list(run)
            names = lines[indices[0]]
            across = 1 if names[0] in self._wide else self.shape[0]
            widths = shares(width, across)[: len(names)]
            tall, top, left = sum(heights[index] for index in indices), self._head + len(rows), 0
            sections = []
            for name, wide in zip(names, widths, strict=True):
                section, refused = self._section(snapshot, name, (left, top, wide))
                sections.append([section])
                linear += refused
                left += wide
            rows += columns(sections, widths, tall)
        return linear, rows

    def _section(self, snapshot: Snapshot, name: str, place: tuple[int, int, int]) -> tuple[Section, bool]:
        """Return a chart whose frame is at a column and a line and has a width; and whether it refuses to be log."""
        options, (left, top, width) = self._options, place
        lines = self._curves.lines(snapshot, name, options)
        span = options.span(self.extent) if self.extent is not None else None
        plot = plot_of(snapshot, name, options, lines, span)
        refused = options.is_log(name, usually=usually_log(snapshot, name)) and not plot.log_y
        slack = SLACK * (span[1] - span[0]) if span is not None else 0.0

        def rows(width: int, height: int) -> Rows:
            if name in self._missing:
                return ()
            size, notes = (width, height), notes_of(snapshot, options)
            chart = self._curves.chart(name, lines, plot, size, awaited(snapshot, name), notes=notes)
            if chart.axes is not None:
                self._places[name] = Place(left + BORDER // 2 + chart.axes.left, top, height + 2, chart.axes)
            if options.cursor is None:
                return chart.rows
            return self._curves.marked(name, chart, options.cursor, value_near(lines[0], options.cursor, slack))

        note: str | Row = latest(snapshot, name)
        if options.cursor is not None:
            note = values_at(lines, options, options.cursor, slack)
        title, more = title_of(snapshot, name)
        taken = len(note) if isinstance(note, str) else width_of(note[:1])
        if len(title) > (room := max(LEAST_TITLE, width - taken - 8)):
            title = fit(title, room)
        scale = "linear (<= 0)" if refused else "log" if plot.log_y and not plot.log_x else ""
        return Section(title, rows, fills=True, note=note, more=", ".join(filter(None, (scale, more)))), refused

    # -- what keys and the mouse need to know -------------------------------------------------------------------------

    def points(self) -> tuple[Reals, NDArray[np.int64]] | None:
        """Return all x values that the cursor can have, and the columns in which they are drawn."""
        place = self._places.get(self._known[0]) if self._known is not None else None
        if self._known is None or place is None:
            return None
        x = np.maximum.accumulate(axis_of(self._known[1], self._over))
        return x, place.axes.columns(x)

    def _x_at(self, event: MouseEvent) -> float | None:
        """Return the x value at which the mouse is; None if it is on no chart."""
        for name, place in self._places.items():
            column = int(event.x) - place.left
            if 0 <= column < place.axes.width and place.top <= event.y < place.top + place.lines:
                self._clicked = name
                return place.axes.value(column)
        return None

    def on_mouse_down(self, event: MouseDown) -> None:
        """Move the cursor."""
        self._point(event)

    def on_mouse_move(self, event: MouseMove) -> None:
        """Move the cursor while a button is pressed."""
        if event.button:
            self._point(event)

    def on_mouse_scroll_up(self, event: MouseScrollUp) -> None:
        """Zoom in."""
        self._zoom(event, WHEEL)

    def on_mouse_scroll_down(self, event: MouseScrollDown) -> None:
        """Zoom out."""
        self._zoom(event, 1 / WHEEL)

    def _point(self, event: MouseEvent) -> None:
        if (x := self._x_at(event)) is not None:
            self.post_message(CurvePointed(x))

    def _zoom(self, event: MouseEvent, factor: float) -> None:
        if (x := self._x_at(event)) is not None:
            self.post_message(CurvesZoomed(factor, x))


def _longest(snapshot: Snapshot, names: list[str]) -> tuple[str, Curve] | None:
    """Return the name and the curve that has the most points; the cursor moves over these."""
    found = [(name, snapshot.curves[name]) for name in names if name in snapshot.curves]
    longest = max(found, key=lambda pair: len(pair[1].values), default=None)
    return longest if longest is not None and len(longest[1].values) else None
