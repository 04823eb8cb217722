"""A bar chart as an SVG picture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

WIDTH, LABELS, RIGHT, TOP, BOTTOM = 900, 190, 90, 84, 34
BAR, GAP = 15, 14
FONT = "DejaVu Sans, Helvetica, Arial, sans-serif"
COLORS = ("#3b6ea8", "#d98032", "#5d9a54")
INK, FAINT, LINE = "#222222", "#666666", "#dddddd"
TARGET = "#b02a2a"


@dataclass(frozen=True)
class Group:
    """A group of bars.

    Attributes:
        label: Its name.
        values: One positive value per series; None if it is missing.
        target: A value that a line marks; 0 for none.
    """

    label: str
    values: Sequence[float | None]
    target: float = 0.0


def bar_chart(title: str, series: Sequence[str], groups: Sequence[Group], target: str = "") -> str:
    """Return an SVG of horizontal bars on a logarithmic axis.

    Args:
        title: The heading.
        series: Names of the values of each group.
        groups: The bars.
        target: Name of the targets in the legend.
    """
    known = [value for group in groups for value in (*group.values, group.target) if value]
    first, last = (math.floor(math.log10(min(known))), math.ceil(math.log10(max(known)))) if known else (0, 1)
    last = max(last, first + 1)
    inner = WIDTH - LABELS - RIGHT

    def at(value: float) -> float:
        return LABELS + inner * (math.log10(value) - first) / (last - first)

    tall = len(series) * BAR + GAP
    bottom = TOP + len(groups) * tall
    parts = [_text(16, 28, title, size=17), *_legend(series, target)]
    for decade in range(first, last + 1):
        x = at(10.0**decade)
        parts.append(f'<line x1="{x:.1f}" y1="{TOP - 6}" x2="{x:.1f}" y2="{bottom}" stroke="{LINE}"/>')
        parts.append(_text(x, bottom + 18, f"{10**decade:,}", color=FAINT, anchor="middle"))
    for number, group in enumerate(groups):
        y = TOP + number * tall
        parts.append(_text(LABELS - 10, y + len(series) * BAR / 2 + 4, group.label, anchor="end"))
        shown = [(index, value) for index, value in enumerate(group.values) if value]
        for index, value in shown:
            place = f'x="{LABELS}" y="{y + index * BAR}" width="{max(1.0, at(value) - LABELS):.1f}" height="{BAR - 2}"'
            parts.append(f'<rect {place} fill="{COLORS[index % len(COLORS)]}"/>')
        if group.target:
            parts.append(_mark(at(group.target), y - 3, y + len(series) * BAR))
        parts += [_text(at(value) + 6, y + index * BAR + BAR - 4, f"{value:,.0f}", size=11) for index, value in shown]
    height = bottom + BOTTOM
    shapes = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'font-family="{FONT}">\n<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>\n{shapes}\n</svg>\n'
    )


def _legend(series: Sequence[str], target: str) -> list[str]:
    parts, x = [], 16.0
    for index, name in enumerate(series):
        parts.append(f'<rect x="{x}" y="44" width="12" height="12" fill="{COLORS[index % len(COLORS)]}"/>')
        parts.append(_text(x + 18, 55, name, color=FAINT))
        x += 40 + 7.5 * len(name)
    if target:
        parts.append(_mark(x + 6, 43, 57))
        parts.append(_text(x + 18, 55, target, color=FAINT))
    return parts


def _mark(x: float, top: float, bottom: float) -> str:
    return f'<line x1="{x:.1f}" y1="{top}" x2="{x:.1f}" y2="{bottom}" stroke="{TARGET}" stroke-width="2"/>'


def _text(x: float, y: float, text: str, *, size: int = 13, color: str = INK, anchor: str = "start") -> str:
    """Return a text with a white edge, which is legible on top of a line."""
    look = f'font-size="{size}" fill="{color}" text-anchor="{anchor}" stroke="#ffffff" stroke-width="3"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {look} paint-order="stroke">{escape(text)}</text>'
