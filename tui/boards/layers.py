"""The layers of a cell: pips above its glyph, meters below it."""

from __future__ import annotations

from collections.abc import Sequence

from ...envs.panels import Layer
from ..drawing.styles import LINE, SIGNS

Piece = tuple[str, str, str]
"""Text, its color and its background; an empty background is that of the cell."""
WHOLE = 255


def pips_line(layers: Sequence[Layer], values: Sequence[int], width: int) -> list[Piece]:
    """Return a line of pips: those of the first layer on the left, those of the second on the right."""
    pips = [(layer, value) for layer, value in zip(layers, values, strict=True) if layer.kind == "pips"]
    texts = [sign * value for sign, (_, value) in zip(SIGNS.pips, pips, strict=False)]
    left, right = (*texts, "", "")[:2]
    if len(left) + len(right) > width:
        right = str(len(right))
    colors = [layer.color for layer, _ in pips]
    first, last = (*colors, LINE, LINE)[:2]
    return [(left, first, ""), (" " * (width - len(left) - len(right)), first, ""), (right, last, "")]


def meters_line(layers: Sequence[Layer], values: Sequence[int], width: int, *, colors: bool) -> list[Piece]:
    """Return a line of meters, the first in the upper half of the characters, the second in the lower half.

    The last column is a gap before the next cell.
    """
    meters = [(layer, value) for layer, value in zip(layers, values, strict=True) if layer.kind == "meter"]
    if not meters:
        return [(" " * width, LINE, "")]
    long = width - 1
    reach = [-(-value * long // WHOLE) for _, value in meters[:2]]
    if not colors or len(meters) == 1:
        return [(SIGNS.full * reach[0] + SIGNS.track * (long - reach[0]) + " ", meters[0][0].color, "")]
    (one, _), (other, _) = meters[:2]
    drawn = [("▀", one.color if at < reach[0] else LINE, other.color if at < reach[1] else LINE) for at in range(long)]
    return [*drawn, (" ", LINE, "")]
