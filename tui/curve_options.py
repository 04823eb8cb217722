"""What the user has selected of the curves: axes, cursor, zoom, smoothing, and which are shown in which order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..training.telemetry.snapshot import Curve
from ..training.units import Units

Reals: TypeAlias = NDArray[np.float64]
Over: TypeAlias = Literal["steps", "frames", "seconds"]

WEIGHTS = (0.0, 0.6, 0.9, 0.97)
"""Weights of the average, which one key goes through; 0 draws only the values themselves."""
CLOSEST = 1 / 1024
"""The shortest range that can be zoomed into, as a share of everything."""
BLOCK = 1024
"""Values that are averaged at once; more would exceed the range of numbers."""
WHOLE = 0.999
"""From this share of everything on, a range is everything."""


class Extent(NamedTuple):
    """The range of x values that there are: from `low` to `high`; those of the session end at `newest`."""

    low: float
    high: float
    newest: float


class Window(NamedTuple):
    """The range that is zoomed into: its width, and its end; None if it ends at the newest value."""

    width: float
    end: float | None = None


OverlayKey: TypeAlias = tuple[Path, tuple[Path, ...]]


@dataclass(frozen=True, eq=False)
class Overlay:
    """The curves of another run, of several seeds of one, or of a log of another program.

    Attributes:
        name: The run's name.
        folder: Where its metrics are.
        members: The folders of all runs of which the curves are means; none for a single run.
        curves: Its metrics; empty until they are read.
        edges: The ends of the band of one standard deviation around means.
        version: What changes when the file of metrics does; negative until it is read.
    """

    name: str
    folder: Path
    members: tuple[Path, ...] = ()
    curves: Mapping[str, Curve] = field(default_factory=dict)
    edges: Mapping[str, tuple[Curve, Curve]] = field(default_factory=dict)
    version: tuple[int, int, int] = (-1, -1, -1)

    @property
    def key(self) -> OverlayKey:
        """What distinguishes it from others."""
        return self.folder, self.members


@dataclass(frozen=True)
class CurveOptions:
    """What the user has selected of the curves.

    Attributes:
        over: The x axis; None for what the trainer counts.
        cursor: The x value of the cursor, if there is one.
        window: The range that is zoomed into; None for everything.
        smoothing: Weight of the exponential moving average; 0 if curves are not smoothed.
        log: Whether y axes are logarithmic.
        exceptions: Names of curves for which it is the other way round.
        hidden: Names of curves that are not shown.
        order: Names of curves that the user has put in order.
        overlays: Other runs, whose curves are drawn behind those of the session.
        pinned: Names of curves that are drawn beside boards, before others.
        large: Whether one curve takes the whole screen.
    """

    over: Over | None = None
    cursor: float | None = None
    window: Window | None = None
    smoothing: float = 0.0
    log: bool = False
    exceptions: frozenset[str] = frozenset()
    hidden: frozenset[str] = frozenset()
    order: tuple[str, ...] = ()
    overlays: tuple[Overlay, ...] = ()
    pinned: tuple[str, ...] = ()
    large: bool = False

    # -- which curves are shown ---------------------------------------------------------------------------------------

    def arranged(self, names: Sequence[str]) -> list[str]:
        """Return names in the user's order; those that the user did not move keep their places."""
        known = {name: place for place, name in enumerate(self.order)}
        moved = iter(sorted((name for name in names if name in known), key=known.__getitem__))
        return [next(moved) if name in known else name for name in names]

    def shown(self, names: Sequence[str]) -> list[str]:
        """Return the names of the curves that are shown, in the user's order."""
        return [name for name in self.arranged(names) if name not in self.hidden]

    def toggled(self, name: str) -> CurveOptions:
        """Hide a curve, or show it again."""
        return replace(self, hidden=self.hidden ^ {name})

    def moved(self, names: Sequence[str], name: str, by: int) -> CurveOptions:
        """Move a curve `by` places among all of `names`."""
        order = self.arranged(names)
        place = order.index(name)
        order.insert(min(len(order) - 1, max(0, place + by)), order.pop(place))
        return replace(self, order=(*order, *(other for other in self.order if other not in names)))

    def pin(self, name: str) -> CurveOptions:
        """Draw a curve beside boards, after those that were pinned before, or no longer."""
        others = tuple(other for other in self.pinned if other != name)
        return replace(self, pinned=others if len(others) < len(self.pinned) else (*others, name))

    def chosen(
        self,
        hidden: Iterable[str] = (),
        order: Iterable[str] = (),
        exceptions: Iterable[str] = (),
        pinned: Iterable[str] = (),
    ) -> CurveOptions:
        """Return these options with another choice and order of curves."""
        return replace(
            self, hidden=frozenset(hidden), order=tuple(order), exceptions=frozenset(exceptions), pinned=tuple(pinned)
        )

    # -- axes ---------------------------------------------------------------------------------------------------------

    def is_log(self, name: str, *, usually: bool) -> bool:
        """Return whether a curve's y axis is to be logarithmic; `usually`: whether it is so unless the user says so."""
        return (self.log or usually) != (name in self.exceptions)

    def with_log(self, name: str) -> CurveOptions:
        """Switch the y axis of one curve."""
        return replace(self, exceptions=self.exceptions ^ {name})

    def with_next_axis(self, units: Units, known: Curve | None) -> CurveOptions:
        """Go from what the trainer counts to time, then to the other count; cursor and zoom keep their places.

        Args:
            units: The trainer's words.
            known: A curve of the session with all three axes, if there is one.
        """
        axes: list[Over] = [units.over, "seconds", "frames" if units.over == "steps" else "steps"]
        if known is not None and np.array_equal(known.steps, known.frames):
            axes.pop()
        before = self.over or units.over
        after = axes[(axes.index(before) + 1) % len(axes)] if before in axes else axes[0]
        options = replace(self, over=None if after == units.over else after)
        if known is None or not len(known.steps):
            return replace(options, cursor=None, window=None)

        def converted(value: float) -> float:
            return float(np.interp(value, axis_of(known, before), axis_of(known, after)))

        if options.cursor is not None:
            options = replace(options, cursor=converted(options.cursor))
        if self.window is not None:
            end = self.window.end if self.window.end is not None else float(axis_of(known, before)[-1])
            width = converted(end) - converted(end - self.window.width)
            options = replace(
                options,
                window=Window(width, None if self.window.end is None else converted(end)) if width > 0 else None,
            )
        return options

    # -- cursor and zoom ----------------------------------------------------------------------------------------------

    def span(self, extent: Extent) -> tuple[float, float]:
        """Return the range that is shown of everything."""
        if self.window is None:
            return extent.low, extent.high
        end = extent.newest if self.window.end is None else self.window.end
        return end - self.window.width, end

    def zoomed(self, extent: Extent, factor: float, around: float | None = None) -> CurveOptions:
        """Show a range that is wider by a factor, around a value, the cursor, or the newest end."""
        low, high = self.span(extent)
        total, width = extent.high - extent.low, (high - low) * factor
        if width >= WHOLE * total:
            return replace(self, window=None)
        width = max(width, CLOSEST * total)
        centre = self.cursor if around is None else around
        if centre is None or not low <= centre <= high:
            return replace(self, window=Window(width, self.window.end if self.window else None))
        begin = centre - (centre - low) / (high - low) * width
        return replace(self, window=_window(width, begin + width, extent))

    def pointed(self, cursor: float, extent: Extent) -> CurveOptions:
        """Move the cursor; the range follows it."""
        if self.window is None:
            return replace(self, cursor=cursor)
        low, high = self.span(extent)
        if cursor < low:
            high -= low - cursor
        elif cursor > high:
            high = cursor
        else:
            return replace(self, cursor=cursor)
        return replace(self, cursor=cursor, window=_window(self.window.width, high, extent))

    def reset(self) -> CurveOptions:
        """Remove the cursor; without one, show everything; then all curves, if one takes the whole screen."""
        if self.cursor is not None:
            return replace(self, cursor=None)
        return replace(self, window=None) if self.window is not None else replace(self, large=False)

    def smoother(self) -> CurveOptions:
        """Return the next smoothing; after the strongest, none."""
        return replace(self, smoothing=next((weight for weight in WEIGHTS if weight > self.smoothing), 0.0))


def _window(width: float, end: float, extent: Extent) -> Window:
    """Return a range within everything; at the newest value, it follows that."""
    end = min(extent.high, max(extent.low + width, end))
    return Window(width, None if end >= extent.newest == extent.high else end)


def axis_of(curve: Curve, over: Over) -> Reals:
    """Return the x values of a curve."""
    found: Reals = getattr(curve, over).astype(float)
    return found


def smoothed(values: Reals, weight: float) -> Reals:
    """Return the exponential moving average, of which the first value is not overrated, as in TensorBoard."""
    if not weight:
        return values
    shares = weight ** np.arange(1, BLOCK + 1)
    total, blocks = 0.0, []
    for start in range(0, len(values), BLOCK):
        block = (1 - weight) * values[start : start + BLOCK]
        sums = (total + np.cumsum(block / shares[: len(block)])) * shares[: len(block)]
        blocks.append(sums)
        total = float(sums[-1])
    found: Reals = np.concatenate([values[:0], *blocks]) / (1 - weight ** np.arange(1, len(values) + 1))
    return found


def nearest(x: Reals, place: float) -> int:
    """Return the index of the value of rising `x` that is nearest to a place."""
    after = min(len(x) - 1, int(np.searchsorted(x, place)))
    return after - (after > 0 and place - x[after - 1] <= x[after] - place)


def next_point(x: Reals, columns: NDArray[np.int64], cursor: float | None, by: int) -> float:
    """Return the point to which the cursor moves: in a column that is at least `by` columns to the right.

    Args:
        x: All points, rising, `(points,)`.
        columns: The columns in which they are drawn.
        cursor: Where the cursor is. If there is none, it appears at the last point, and moves from there by several
            columns.
        by: Columns; negative to the left.
    """
    if cursor is None and abs(by) == 1:
        return float(x[-1])
    at = len(x) - 1 if cursor is None else nearest(x, cursor)
    if by > 0:
        found = int(np.searchsorted(columns, columns[at] + by))
        return float(x[min(len(x) - 1, max(at + 1, found))])
    found = int(np.searchsorted(columns, columns[at] + by, "right")) - 1
    return float(x[max(0, min(at - 1, found))])
