"""The layout of boards in a grid: their scale, and how many fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from .scale import Scale

BORDER = 2
GAP = 1


class Notes(NamedTuple):
    """Lines of notes below each board, and the columns that a board needs to have notes."""

    lines: int = 0
    columns: int = 0


NONE = Notes()


@dataclass(frozen=True)
class GridLayout:
    """A grid of boards.

    Attributes:
        scale: Size of a board.
        columns: Boards side by side.
        rows: Boards on top of each other.
        left: Empty columns before the first board.
        notes: Lines of notes below each board.
    """

    scale: Scale
    columns: int
    rows: int
    left: int = 0
    notes: int = 0

    @property
    def page(self) -> int:
        """Boards on one page."""
        return self.columns * self.rows

    @property
    def tile(self) -> tuple[int, int]:
        """Columns and lines of a board with its notes and its border."""
        return self.scale.columns + BORDER, self.scale.lines + self.notes + BORDER

    def place(self, index: int) -> tuple[int, int]:
        """Return the column and line at which a board starts, by its index on the page."""
        row, column = divmod(index, self.columns)
        wide, tall = self.tile
        return self.left + column * (wide + GAP), row * tall


def best_layout(scales: Sequence[Scale], count: int, width: int, height: int, notes: Notes = NONE) -> GridLayout:
    """Return the layout with the largest scale at which `count` boards fit, and with as many notes as fit.

    If they do not fit at any scale, return the layout with the most boards.
    """
    count = max(1, count)
    grids = [
        _grid(scale, count, width, height, lines)
        for scale in scales
        for lines in range(notes.lines if scale.columns >= notes.columns else 0, -1, -1)
    ]
    found = next((grid for grid in grids if grid.page >= count), None)
    if found is not None:
        return _balanced(found, count, width)
    return max(grids, key=lambda grid: (grid.page, -grid.scale.columns))


def cut_layout(scales: Sequence[Scale], height: int) -> GridLayout:
    """Return the layout of one board that is wider or taller than its area: at the narrowest scale.

    Of several such, it is the tallest that is not cut at the bottom, or else the lowest.
    """

    def order(scale: Scale) -> tuple[int, bool, int]:
        cut = scale.lines + BORDER > height
        return scale.columns, cut, scale.lines if cut else -scale.lines

    return GridLayout(min(scales, key=order), 1, 1)


def _grid(scale: Scale, count: int, width: int, height: int, notes: int) -> GridLayout:
    columns = min(count, (width + GAP) // (scale.columns + BORDER + GAP))
    rows = height // (scale.lines + BORDER + notes)
    if not (columns and rows):
        return GridLayout(scale, 0, 0)
    return GridLayout(scale, columns, rows, _left(scale, columns, width), notes)


def _left(scale: Scale, columns: int, width: int) -> int:
    return max(0, (width - columns * (scale.columns + BORDER + GAP) + GAP) // 2)


def _balanced(grid: GridLayout, count: int, width: int) -> GridLayout:
    """The same number of rows, with boards divided evenly."""
    rows = -(-count // grid.columns)
    columns = -(-count // rows)
    return replace(grid, columns=columns, rows=rows, left=_left(grid.scale, columns, width))
