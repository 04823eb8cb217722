"""The lines above the learning curves: cursor, range, smoothing, and a legend of the runs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...training.telemetry.snapshot import Curve, Snapshot
from ...training.units import plural
from ..curve_options import CurveOptions, Extent, axis_of, nearest
from ..drawing.chart import behind
from ..drawing.numbers import clock, short, whole
from ..drawing.styles import (
    BRIGHT,
    FAINT,
    GREEN,
    GROUND,
    SIGNS,
    SOFT,
    TEXT,
    YELLOW,
    Row,
    fit_ends,
    mixed,
    spread,
    styled,
    width_of,
)
from ..keys import shown
from .curves import BEHIND, DIM

GAP = "   "
SAMPLE, LEAST_NAME = 6, 8


class Head(NamedTuple):
    """What the lines say.

    Attributes:
        options: What the user has selected.
        extent: The range of everything, if there is one.
        known: The curve over whose points the cursor moves, if there is one.
        hidden: Number of curves that are hidden.
        linear: Number of charts that are linear because they have values <= 0.
    """

    options: CurveOptions
    extent: Extent | None
    known: Curve | None
    hidden: int
    linear: int


def head_rows(snapshot: Snapshot, head: Head, width: int) -> list[Row]:
    """Return a line of what is selected, and one of the runs if there are others."""
    full, brief = (_selected(snapshot, head, brief=brief) for brief in (False, True))
    left = full if width_of(full) <= width else brief
    return [
        spread(left, _undo(head.options), width),
        *([_legend(snapshot, head, width)] if head.options.overlays else []),
    ]


def _selected(snapshot: Snapshot, head: Head, *, brief: bool) -> Row:
    """Return what the user has selected, in short numbers if `brief`."""
    options, units = head.options, snapshot.description.units
    over = options.over or units.over
    named = {"steps": plural(units.step), "frames": plural(units.frame), "seconds": ""}
    texts: list[tuple[str, str]] = []
    if options.cursor is not None and head.known is not None:
        at = nearest(axis_of(head.known, over), options.cursor)
        counts = {name: float(getattr(head.known, name)[at]) for name in named}
        number = short if brief else whole
        others = () if brief else ("seconds",) if counts["steps"] == counts["frames"] else tuple(named)
        parts = [
            clock(counts[name]) if name == "seconds" else f"{number(counts[name])} {named[name]}"
            for name in named
            if name == over or name in others
        ]
        texts.append((f"{SIGNS.dot} {', '.join(parts)}", BRIGHT))
    if head.extent is not None:
        low, high = (clock(end) if over == "seconds" else short(end) for end in options.span(head.extent))
        span = f"{low} to {high} {named[over]}".rstrip()
        newest = ", newest" if options.window is not None and options.window.end is None else ""
        texts.append((span, SOFT) if options.window is None else (f"zoom {span}{newest}", YELLOW))
    if options.smoothing:
        texts.append((f"smoothing {options.smoothing:g}", TEXT))
    if options.log:
        linear = f", {head.linear} linear{'' if brief else ' (values <= 0)'}" if head.linear else ""
        texts.append((f"log y{linear}", TEXT))
    if head.hidden:
        texts.append((f"{head.hidden} hidden", SOFT))
    return tuple(styled(f"{GAP if at else ' '}{text}", color) for at, (text, color) in enumerate(texts))


def _undo(options: CurveOptions) -> Row:
    """Return what Esc does, if it does not leave the view."""
    if options.cursor is None and options.window is None:
        return ()
    what = "removes the cursor" if options.cursor is not None else "shows the whole range"
    return (styled(f"{shown('cancel')} ", SOFT), styled(f"{what} ", FAINT))


def _legend(snapshot: Snapshot, head: Head, width: int) -> Row:
    """Return the names of the runs, each after a piece of its curves."""
    runs = head.options.overlays
    room = max(LEAST_NAME, width // (len(runs) + 1) - SAMPLE - 3)
    row: Row = (styled(f" {SIGNS.full * SAMPLE} ", GREEN), styled(_name(snapshot.description.run, room), TEXT))
    for run, (color, dash) in zip(runs, BEHIND, strict=False):
        name = _name(run.name if run.curves or min(run.version) < 0 else f"{run.name} (empty)", room)
        row = (*row, styled(f"  {_sample(dash)} ", mixed(color, GROUND, DIM)), styled(name, TEXT))
    return row


def _name(name: str, room: int) -> str:
    return fit_ends(name, min(len(name), room))


def _sample(dash: tuple[int, ...]) -> str:
    """Return a piece of a curve behind others."""
    kind = behind()
    bits = np.zeros((kind.tall, SAMPLE * kind.wide), bool)
    bits[len(bits) // 2] = np.arange(SAMPLE * kind.wide) % sum(dash) < dash[0] if dash else True
    return kind.lines(bits)[0]
