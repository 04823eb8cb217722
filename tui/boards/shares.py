"""The renderer of grids of action probabilities: each cell is divided among actions, or shows their mixed color."""

from __future__ import annotations

from itertools import groupby

import numpy as np
from rich.segment import Segment

from ...envs.fields import Array
from ...envs.panels import Glyph
from ...training.telemetry.description import ShapedPanel
from ..drawing.styles import FAINT, GROUND, SOFT, Row, blank, fit, style_of, styled
from .scale import Scale

SIZES = ((6, 3), (6, 2), (4, 2), (4, 1), (2, 1), (1, 1))
"""Columns and lines of a cell, largest first; a cell of at least `NAMED` columns contains its name."""
NAMED = 4
NO_ACTION = -1
MAX_CACHED = 8192
LIGHTNESS = np.array([0.299, 0.587, 0.114])
Piece = tuple[str, str, str]


class ShareRenderer:
    """A grid of action probabilities, with names of rows and columns or of the cells themselves."""

    def __init__(self, panel: ShapedPanel, *, colors: bool) -> None:
        self._height, self._width, _ = panel.shape
        self._glyphs, self._colors = panel.glyphs, colors
        named = len(panel.labels) == self._height * self._width
        self._names = panel.labels if named else ()
        self._rows = () if named else panel.labels
        self._columns = panel.columns
        self._gutter = max((len(name) for name in self._rows), default=-1) + 1
        self._lines: dict[tuple[str, bytes], Row] = {}
        self.scales = tuple(self._scale(*size) for size in SIZES)

    def _scale(self, wide: int, tall: int) -> Scale:
        return Scale(f"{wide}x{tall}", self._gutter + wide * self._width, self._head(wide) + tall * self._height)

    def _size(self, scale: Scale) -> tuple[int, int]:
        """Columns and lines of a cell."""
        wide = (scale.columns - self._gutter) // self._width
        return wide, (scale.lines - self._head(wide)) // self._height

    def _head(self, wide: int) -> int:
        """Lines of the names of the columns, which are written vertically if they do not fit."""
        longest = max((len(name) for name in self._columns), default=0)
        return min(1, longest) if longest < wide else longest

    def prepare(self, boards: Array, scale: Scale) -> Array:
        """Return lines: their number, which is negative for the names of the columns, and what their row shows.

        A row shows the action of each column of text where cells are divided, otherwise the probabilities. So a
        strategy whose change is too small to be seen is not drawn again.
        """
        count, height = boards.shape[:2]
        wide, tall = self._size(scale)
        cells = (_divided(boards, wide) if wide >= NAMED else boards.astype(np.int16)).reshape(count, height, -1)
        above = scale.lines - tall * height
        lines = np.zeros((count, scale.lines, 1 + cells.shape[2]), np.int16)
        lines[:, :, 0] = np.arange(-above, tall * height)
        lines[:, above:, 1:] = cells.repeat(tall, axis=1)
        return lines

    def line(self, row: Array, part_of_row: int, scale: Scale) -> Row:  # noqa: ARG002 - the protocol's
        """Return one line, from a cache since strategies change slowly."""
        key = (scale.name, row.tobytes())
        found = self._lines.get(key)
        if found is None:
            if len(self._lines) >= MAX_CACHED:
                self._lines.clear()
            found = self._lines[key] = self._line(row, scale)
        return found

    def _line(self, row: Array, scale: Scale) -> Row:
        line, (wide, tall) = int(row[0]), self._size(scale)
        if line < 0:
            return self._heading(-line, wide)
        number, part_of_row = divmod(line, tall)
        middle = part_of_row == (tall - 1) // 2
        label = self._rows[number] if self._rows and middle else ""
        pieces: list[Piece] = []
        for column, shown in enumerate(row[1:].reshape(self._width, -1)):
            name = self._names[number * self._width + column] if self._names and middle else ""
            pieces += self._cell(shown.tolist(), name, wide) if wide >= NAMED else [self._mixed(shown, wide)]
        head = (styled(fit(label, self._gutter), SOFT),) if self._gutter else ()
        return (*head, *_joined(pieces))

    def _heading(self, above: int, wide: int) -> Row:
        """The names of the columns, or one line of vertical names, `above` lines above the first row."""
        tall = self._head(wide)
        names = self._columns if tall == 1 else [name.rjust(tall)[-above] for name in self._columns]
        shown = "".join(fit(name, wide) for name in names)
        return (blank(self._gutter), styled(fit(shown, wide * self._width), FAINT))

    def _cell(self, actions: list[int], name: str, wide: int) -> list[Piece]:
        text = fit(f" {name}" if len(name) < wide - 1 else name, wide)
        if actions[0] == NO_ACTION:
            return [(text if name else fit("·", wide), FAINT, GROUND)]
        glyphs = [self._glyphs[action] for action in actions]
        return [
            (glyph.narrow if letter == " " and not self._colors else letter, glyph.color, glyph.ground)
            for letter, glyph in zip(text, glyphs, strict=True)
        ]

    def _mixed(self, row: Array, wide: int) -> Piece:
        """A cell in mixed colors, with the letter of the most probable action."""
        total = int(row.sum())
        if not total:
            return fit("·", wide), FAINT, GROUND
        shares = row / total
        likeliest = int(shares.argmax())
        glyph, tenths = self._glyphs[likeliest], min(9, int(10 * shares[likeliest]))
        return (glyph.narrow + str(tenths))[:wide], *_mixture(self._glyphs, shares)


def _divided(boards: Array, wide: int) -> Array:
    """Return the action of each column of each cell, `(count, height, width, wide)`; NO_ACTION for unknown cells."""
    ends = np.cumsum(boards, axis=-1, dtype=np.int64)
    total = ends[..., -1:]
    ends = np.rint(ends / np.maximum(total, 1) * wide)
    actions = (ends[..., None, :] > np.arange(wide)[:, None]).argmax(axis=-1)
    return np.where(total, actions, NO_ACTION).astype(np.int16)


def _mixture(glyphs: tuple[Glyph, ...], shares: Array) -> tuple[str, str]:
    """Return the colors of letters and background for probabilities, rounded to eighths to limit the styles.

    The color of the letters is that of the action with the highest contrast.
    """
    eighths = np.rint(8 * shares) / 8
    grounds = np.array([list(bytes.fromhex(glyph.ground[1:])) for glyph in glyphs])
    letters = np.array([list(bytes.fromhex(glyph.color[1:])) for glyph in glyphs])
    total = eighths.sum() or 1.0
    ground = np.rint(eighths @ grounds / total)
    letter = letters[np.abs((letters - ground) @ LIGHTNESS).argmax()]
    return _code((2 * letter + ground) // 3), _code(ground)


def _code(color: Array) -> str:
    return "#" + color.astype(np.uint8).tobytes().hex()


def _joined(pieces: list[Piece]) -> tuple[Segment, ...]:
    """Pieces of the same style in one segment."""
    return tuple(
        Segment("".join(text for text, *_ in run), style_of(*style))
        for style, run in groupby(pieces, key=lambda piece: piece[1:])
    )
