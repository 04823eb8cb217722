"""What renderers of every kind have in common: the sizes they can be drawn at, and how their lines are asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ...envs.fields import Array
from ..drawing.styles import Row


@dataclass(frozen=True)
class Scale:
    """One size that a board can be drawn at.

    Attributes:
        name: Its name.
        columns: Columns of text.
        lines: Lines of text.
        span: Lines that one row of the prepared board takes.
    """

    name: str
    columns: int
    lines: int
    span: int = 1


class Renderer(Protocol):
    """How one panel is drawn. A board is prepared for a scale, as rows to compare and to draw lines from."""

    @property
    def scales(self) -> tuple[Scale, ...]:
        """The sizes it can be drawn at, largest first."""

    def prepare(self, boards: Array, scale: Scale) -> Array:
        """Return boards `(count, ...)` as `(count, lines / span, ...)`."""

    def line(self, row: Array, part_of_row: int, scale: Scale) -> Row:
        """Return one line of text of a prepared row."""
