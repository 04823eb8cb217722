"""The curves of runs as an SVG picture, those of several seeds as their mean with one standard deviation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

import numpy as np

from ...training.runs.statistics import Reals
from ..drawing.numbers import short
from ..drawing.ticks import Ends, place_of, round_values
from ..run_table import RunGroup

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 900, 420, 70, 20, 44, 46
LEGEND = 20
COLORS = ("#3b6ea8", "#d98032", "#5d9a54", "#a94a8c", "#8a6d3b", "#3a9aa0", "#b02a2a", "#666666")
INK, FAINT, LINE = "#222222", "#666666", "#dddddd"
FONT = "DejaVu Sans, Helvetica, Arial, sans-serif"
LABELS = 6


def picture_of(groups: Sequence[RunGroup]) -> str:
    """Return the picture of the curves of groups of runs."""
    goal = groups[0].goal
    units = groups[0].runs[0].units
    bands = [_placed(*group.band(units.over), log=goal.log) for group in groups]
    across = _ends([x for x, *_ in bands if len(x)])
    up = _ends([edge for x, _, *edges in bands if len(x) for edge in edges])
    height = HEIGHT + LEGEND * len(groups)
    parts = [
        _text(LEFT, 26, f"{goal.title}: mean over seeds, and one standard deviation", size=16),
        *_axes(across, up, log=goal.log),
    ]
    parts.append(_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, units.counted, color=FAINT, anchor="middle"))
    for number, (group, (x, mean, *edges)) in enumerate(zip(groups, bands, strict=True)):
        color = COLORS[number % len(COLORS)]
        across_x, tall = _places(x, across, LEFT, WIDTH - RIGHT), HEIGHT - BOTTOM
        if len(x) > 1:
            low, high = (_places(edge, up, tall, TOP) for edge in edges)
            if len(group.runs) > 1:
                outline = _points(np.append(across_x, across_x[::-1]), np.append(low, high[::-1]))
                parts.append(f'<polygon points="{outline}" fill="{color}" fill-opacity="0.18"/>')
            line = _points(across_x, _places(mean, up, tall, TOP))
            parts.append(f'<polyline points="{line}" fill="none" stroke="{color}" stroke-width="2"/>')
        y = HEIGHT + LEGEND * number
        parts.append(f'<rect x="{LEFT}" y="{y}" width="12" height="12" fill="{color}"/>')
        parts.append(_text(LEFT + 20, y + 11, group.title))
    shapes = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'font-family="{FONT}">\n<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>\n{shapes}\n</svg>\n'
    )


def _placed(x: Reals, mean: Reals, deviation: Reals, *, log: bool) -> tuple[Reals, Reals, Reals, Reals]:
    """Return where a curve and the edges of its band are on the axes; of logarithmic ones, where they are positive."""
    low, high = mean - deviation, mean + deviation
    if not log:
        return x, mean, low, high
    shown = (x > 0) & (mean > 0)
    x, mean, low, high = x[shown], mean[shown], low[shown], high[shown]
    return np.log10(x), np.log10(mean), np.log10(np.where(low > 0, low, mean)), np.log10(high)


def _ends(values: Sequence[Reals]) -> Ends:
    """Return the lowest and the highest value, apart from each other."""
    low = min((float(one.min()) for one in values), default=0.0)
    high = max((float(one.max()) for one in values), default=1.0)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _places(values: Reals, ends: Ends, begin: float, end: float) -> Reals:
    return begin + (values - ends[0]) / (ends[1] - ends[0]) * (end - begin)


def _points(x: Reals, y: Reals) -> str:
    return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))


def _axes(across: Ends, up: Ends, *, log: bool) -> Iterator[str]:
    """Yield lines and labels at round values."""
    for value in next(round_values(up, 1 / LABELS, log=log), ()):
        y = float(_places(np.array(place_of(value, log=log)), up, HEIGHT - BOTTOM, TOP))
        yield f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="{LINE}"/>'
        yield _text(LEFT - 8, y + 4, short(value), color=FAINT, anchor="end")
    for value in next(round_values(across, 1 / LABELS, log=log), ()):
        x = float(_places(np.array(place_of(value, log=log)), across, LEFT, WIDTH - RIGHT))
        yield f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{HEIGHT - BOTTOM}" stroke="{LINE}"/>'
        yield _text(x, HEIGHT - BOTTOM + 18, short(value), color=FAINT, anchor="middle")


def _text(x: float, y: float, text: str, *, size: int = 13, color: str = INK, anchor: str = "start") -> str:
    look = f'font-size="{size}" fill="{color}" text-anchor="{anchor}"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {look}>{escape(text)}</text>'
