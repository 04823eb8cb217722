"""The interface of renderers: the scales at which they draw, and their lines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ...envs.fields import Array
from ..drawing.styles import Row


@dataclass(frozen=True)
class Scale:
    """A size at which a board can be drawn.

    Attributes:
        columns: Columns of text.
        lines: Lines of text.
        span: Lines per row of the prepared board.
    """

    name: str
    columns: int
    lines: int
    span: int = 1


class Renderer(Protocol):
    """Draws a panel: prepares boards as rows, and draws the lines of a row. Equal rows are not drawn again."""

    @property
    def scales(self) -> tuple[Scale, ...]:
        """The scales at which it can draw, largest first."""

    def prepare(self, boards: Array, scale: Scale) -> Array:
        """Return boards `(count, ...)` as `(count, lines / span, ...)`."""

    def line(self, row: Array, part_of_row: int, scale: Scale) -> Row:
        """Return one line of text of a prepared row."""
