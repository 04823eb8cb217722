"""What renderers of every kind have in common: the sizes they can be drawn at, and how their lines are asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ...envs.fields import Array
from ..drawing.styles import Row


@dataclass(frozen=True)
class Scale:
    """A size at which a board can be drawn.

    Attributes:
        name: Its name.
        columns: Columns of text.
        lines: Lines of text.
        span: Lines per row of the prepared board.
    """

    name: str
    columns: int
    lines: int
    span: int = 1


class Renderer(Protocol):
    """Draws a panel. It prepares boards as rows, which are compared with the rows on the screen, and draws their lines."""

    @property
    def scales(self) -> tuple[Scale, ...]:
        """The scales at which it can draw, largest first."""

    def prepare(self, boards: Array, scale: Scale) -> Array:
        """Return boards `(count, ...)` as `(count, lines / span, ...)`."""

    def line(self, row: Array, part_of_row: int, scale: Scale) -> Row:
        """Return one line of text of a prepared row."""
