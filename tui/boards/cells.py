"""Styled text of cells: a glyph of two columns, reduced to one or to half a character, or enlarged."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from rich.segment import Segment

from ...envs.fields import Array
from ...envs.panels import Glyph, Layer
from ..drawing.styles import LINE, SIGNS, Row, mixed, style_of

QUADRANTS = " ▘▝▀▖▌▞▛▗▚▐▜▄▙▟█"
"""Block characters by the quarters they fill: upper left 1, upper right 2, lower left 4, lower right 8."""
FACTORS = {"huge": 3, "large": 2}
FIGURE = 0.35
Piece = tuple[str, str, str]
"""Text, its color and its background; an empty background is that of the cell."""
WHOLE = 255


def brightness(color: str) -> int:
    """Return the perceived brightness of a color `#rrggbb`."""
    red, green, blue = bytes.fromhex(color[1:])
    return 3 * red + 6 * green + blue


def single_color(glyph: Glyph) -> str:
    """Return one color for a glyph: the brighter color of a shape, or a mixture of the colors of text."""
    if not glyph.wide.strip():
        return glyph.ground
    if all(letter in QUADRANTS for letter in glyph.wide):
        return max(glyph.color, glyph.ground, key=brightness)
    return mixed(glyph.color, glyph.ground, FIGURE)


def enlarged(text: str, factor: int, line: int) -> str:
    """Return line `line` of a glyph enlarged `factor` times; letters are not enlarged but centered."""
    if not all(letter in QUADRANTS for letter in text):
        return (text if line == (factor - 1) // 2 else "").center(len(text) * factor)
    quarters = [QUADRANTS.index(letter) for letter in text]
    return "".join(_character(quarter, factor, column, line) for quarter in quarters for column in range(factor))


def _character(quarter: int, factor: int, column: int, line: int) -> str:
    """The character at `column` and `line` of an enlarged quadrant."""
    bits = 0
    for bit in range(4):
        x, y = 2 * column + bit % 2, 2 * line + bit // 2
        source = (x // factor) + 2 * (y // factor)
        bits |= (quarter >> source & 1) << bit
    return QUADRANTS[bits]


def legible(glyph: Glyph, *, colors: bool) -> str:
    """Return a glyph's two columns; without colors, its letter twice if its columns do not contain it."""
    return glyph.wide if colors or glyph.narrow in glyph.wide else glyph.narrow * 2


class CellStyles:
    """Turns rows of codes into styled text; large cells have their layers above and below the glyph."""

    def __init__(self, glyphs: Sequence[Glyph], layers: Sequence[Layer] = (), *, colors: bool) -> None:
        self._glyphs = glyphs
        self._layers = layers
        self._metered = any(layer.kind == "meter" for layer in layers)
        self._colors = colors
        self._styles = [style_of(glyph.color, glyph.ground) for glyph in glyphs]
        self._single_colors = [single_color(glyph) for glyph in glyphs]
        self._texts: dict[tuple[str, int], list[str]] = {}

    def line(self, codes: Array, line: int, scale: str) -> Row:
        """Return a line of a row of cells."""
        known = [min(code, len(self._glyphs) - 1) for code in codes.tolist()]
        if scale == "half":
            return self._halves(known)
        texts = self._texts.get((scale, line))
        if texts is None:
            texts = self._texts[scale, line] = [self._text(glyph, line, scale) for glyph in self._glyphs]
        pieces = [(texts[code], self._styles[code]) for code in known]
        return tuple(
            Segment("".join(text for text, _ in run), style)
            for style, run in groupby(pieces, key=lambda piece: piece[1])
        )

    def layered(self, cells: Array, line: int, scale: str) -> Row:
        """Return a line of a row of cells `(W, 1 + layers)`, each a code and the values of its layers."""
        factor = FACTORS[scale]
        pieces: list[Piece] = []
        for code, *values in cells.tolist():
            glyph = self._glyphs[min(code, len(self._glyphs) - 1)]
            for text, color, ground in self._cell(glyph, values, line, factor):
                pieces.append((text, color or glyph.color, ground or glyph.ground))
        return tuple(
            Segment("".join(text for text, *_ in run), style_of(*style))
            for style, run in groupby((piece for piece in pieces if piece[0]), key=lambda piece: piece[1:])
        )

    def _cell(self, glyph: Glyph, values: Sequence[int], line: int, factor: int) -> list[Piece]:
        """One line of a cell: pips, glyph, meters; of two lines, the glyph and either pips or meters."""
        width, middle = 2 * factor, (factor - 1) // 2
        if not any(values):
            return [(enlarged(legible(glyph, colors=self._colors), factor, line), "", "")]
        if line == middle:
            return [(legible(glyph, colors=self._colors).center(width), "", "")]
        if line == factor - 1 and (self._metered or factor > 2):
            return meters_line(self._layers, values, width, colors=self._colors)
        return pips_line(self._layers, values, width)

    def _text(self, glyph: Glyph, line: int, scale: str) -> str:
        if scale == "narrow":
            return glyph.narrow
        text = legible(glyph, colors=self._colors)
        return text if scale == "wide" else enlarged(text, FACTORS[scale], line)

    def _halves(self, codes: Sequence[int]) -> Row:
        """Characters that show two cells each, one above the other."""
        width = len(codes) // 2
        pairs = [
            (self._single_colors[top], self._single_colors[low])
            for top, low in zip(codes[:width], codes[width:], strict=True)
        ]
        return tuple(Segment("▀" * len(list(run)), style_of(*pair)) for pair, run in groupby(pairs))


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
