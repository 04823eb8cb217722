"""Curves as an SVG picture, with axes at round values, bands around them and marks of changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import NamedTuple

import numpy as np

from ...envs.printable import printable
from ...training.runs.statistics import Reals
from .numbers import short
from .ticks import Ends, place_of, round_values

WIDTH, HEIGHT = 900, 420
LEFT, RIGHT, TOP, BOTTOM = 70, 20, 44, 46
LEGEND = 20
COLORS = ("#3b6ea8", "#d98032", "#5d9a54", "#a94a8c", "#8a6d3b", "#3a9aa0", "#b02a2a", "#666666")
INK, FAINT, LINE = "#222222", "#666666", "#dddddd"
FONT = "DejaVu Sans, Helvetica, Arial, sans-serif"
LABEL = 100  # pixels between two labels of an axis, about
HUGE = 1e300


class SvgCurve(NamedTuple):
    """A curve.

    Attributes:
        title: Its name in the legend.
        x: Places, `(points,)`.
        y: Values.
        low: The lower edge of the band around it; None without one.
        high: The upper edge.
    """

    title: str
    x: Reals
    y: Reals
    low: Reals | None = None
    high: Reals | None = None


def curves_svg(
    title: str,
    curves: Sequence[SvgCurve],
    across: str,
    *,
    log: bool = False,
    size: tuple[int, int] = (WIDTH, HEIGHT),
    legend: bool = True,
    marks: Sequence[tuple[float, str]] = (),
) -> str:
    """Return a picture of curves.

    Args:
        title: What is shown.
        curves: The curves; of logarithmic ones, only what is positive is drawn.
        across: What the horizontal axis counts.
        log: Whether both axes are logarithmic.
        size: Its width and height without the legend.
        legend: Whether the titles of curves are below it.
        marks: Places on the horizontal axis that get a line, which says something.
    """
    width, tall = size
    drawn = [_placed(curve, log=log) for curve in curves]
    ends_x = _ends([curve.x for curve in drawn if len(curve.x)])
    ends_y = _ends([edge for curve in drawn if len(curve.x) for edge in (curve.y, *_edges(curve))])
    height = tall + LEGEND * len(curves) * legend
    parts = [_text(LEFT, 26, title, size=16), *_axes(ends_x, ends_y, size, log=log)]
    parts.append(_text((LEFT + width - RIGHT) / 2, tall - 8, across, color=FAINT, anchor="middle"))
    for place, said in marks:
        x = float(_places(np.array(place_of(place, log=log)), ends_x, LEFT, width - RIGHT)) if place > 0 else LEFT
        if LEFT <= x <= width - RIGHT:
            parts.append(
                f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{tall - BOTTOM}" stroke="{FAINT}" '
                f'stroke-dasharray="3 3"><title>{_safe(said)}</title></line>'
            )
    for number, curve in enumerate(drawn):
        color = COLORS[number % len(COLORS)]
        places = _places(curve.x, ends_x, LEFT, width - RIGHT)
        if len(curve.x) > 1:
            if edges := [_places(edge, ends_y, tall - BOTTOM, TOP) for edge in _edges(curve)]:
                outline = _points(np.append(places, places[::-1]), np.append(edges[0], edges[1][::-1]))
                parts.append(f'<polygon points="{outline}" fill="{color}" fill-opacity="0.18"/>')
            line = _points(places, _places(curve.y, ends_y, tall - BOTTOM, TOP))
            parts.append(f'<polyline points="{line}" fill="none" stroke="{color}" stroke-width="2"/>')
        elif len(curve.x):
            y = float(_places(curve.y, ends_y, tall - BOTTOM, TOP)[0])
            parts.append(f'<circle cx="{places[0]:.1f}" cy="{y:.1f}" r="3" fill="{color}"/>')
        if legend:
            y = tall + LEGEND * number
            parts.append(f'<rect x="{LEFT}" y="{y}" width="12" height="12" fill="{color}"/>')
            parts.append(_text(LEFT + 20, y + 11, curve.title))
    shapes = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'font-family="{FONT}">\n<rect width="{width}" height="{height}" fill="#ffffff"/>\n{shapes}\n</svg>\n'
    )


def _edges(curve: SvgCurve) -> tuple[Reals, ...]:
    return () if curve.low is None or curve.high is None else (curve.low, curve.high)


def _placed(curve: SvgCurve, *, log: bool) -> SvgCurve:
    """Return where a curve is on the axes: what is finite, and on logarithmic ones positive."""
    rows = [np.clip(each, -HUGE, HUGE) for each in (curve.x, curve.y, *_edges(curve))]
    shown = np.isfinite(rows).all(axis=0) & (((rows[0] > 0) & (rows[1] > 0)) | (not log))
    rows = [each[shown] for each in rows]
    if log:
        x, y, *edges = rows
        low = [np.log10(np.where(edge > 0, edge, y)) for edge in edges[:1]]
        rows = [np.log10(x), np.log10(y), *low, *(np.log10(edge) for edge in edges[1:])]
    return SvgCurve(curve.title, *rows)


def _ends(values: Sequence[Reals]) -> Ends:
    """Return the lowest and the highest value, apart from each other."""
    low = min((float(one.min()) for one in values), default=0.0)
    high = max((float(one.max()) for one in values), default=1.0)
    if high > low:
        return low, high
    room = max(0.5, abs(low) / 2)
    return low - room, high + room


def _places(values: Reals, ends: Ends, begin: float, end: float) -> Reals:
    return begin + (values - ends[0]) / (ends[1] - ends[0]) * (end - begin)


def _points(x: Reals, y: Reals) -> str:
    return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))


def _axes(across: Ends, up: Ends, size: tuple[int, int], *, log: bool) -> Iterator[str]:
    """Yield lines and labels at round values."""
    width, tall = size
    for value in next(round_values(up, min(0.5, LABEL / 1.5 / (tall - TOP - BOTTOM)), log=log), ()):
        y = float(_places(np.array(place_of(value, log=log)), up, tall - BOTTOM, TOP))
        yield f'<line x1="{LEFT}" y1="{y:.1f}" x2="{width - RIGHT}" y2="{y:.1f}" stroke="{LINE}"/>'
        yield _text(LEFT - 8, y + 4, short(value), color=FAINT, anchor="end")
    for value in next(round_values(across, min(0.5, LABEL / (width - LEFT - RIGHT)), log=log), ()):
        x = float(_places(np.array(place_of(value, log=log)), across, LEFT, width - RIGHT))
        yield f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{tall - BOTTOM}" stroke="{LINE}"/>'
        yield _text(x, tall - BOTTOM + 18, short(value), color=FAINT, anchor="middle")


def _text(x: float, y: float, text: str, *, size: int = 13, color: str = INK, anchor: str = "start") -> str:
    look = f'font-size="{size}" fill="{color}" text-anchor="{anchor}"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {look}>{_safe(text)}</text>'


def _safe(text: str) -> str:
    return escape(printable(text))
