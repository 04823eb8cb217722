"""Boards as real pixels, where the terminal shows them: the text in their place, and their sizes."""

from __future__ import annotations

from collections.abc import Hashable
from functools import lru_cache
from typing import Protocol, runtime_checkable

import numpy as np
from rich.color import Color
from rich.segment import Segment
from rich.style import Style

from ...envs.fields import Array
from ..drawing.styles import GROUND, Row, hex_of
from ..pictures.canvas import Canvas
from ..pictures.kitty import placeholders
from .scale import Renderer, Scale

LEAST_LINES, MOST_LINES, MOST_COLUMNS = 5, 120, 280
"""Sizes of a picture. The combining marks of placeholders count to 296."""
MOST_PICTURES = 200
"""Boards on a page from which on half blocks show them as well."""


@runtime_checkable
class Pictured(Protocol):
    """A renderer whose boards are pictures.

    Attributes:
        size: Their height and width in pixels.
    """

    size: tuple[int, int]

    def images(self, boards: Array) -> Array:
        """Return pixels `(count, H, W, 3)`."""


class PictureRenderer:
    """Leaves room for pictures: placeholders, or for sixels blanks that differ from others.

    So where a picture was, a blank of something else is written, which removes its sixels.

    Args:
        source: Returns the pixels of boards.
        owner: Whose pictures these are.
    """

    def __init__(self, source: Pictured, canvas: Canvas, owner: Hashable) -> None:
        self._source, self._canvas, self._owner = source, canvas, owner
        self._kitty = canvas.mode == "kitty"
        self.scales = picture_scales(source.size, canvas.cell)

    def images(self, boards: Array) -> Array:
        """Return the pixels of boards."""
        return self._source.images(boards)

    def prepare(self, boards: Array, scale: Scale) -> Array:
        """Return number and line for each line of each picture."""
        numbers = [self._canvas.number(self._owner, index) for index in range(len(boards))]
        rows = np.zeros((len(boards), scale.lines, 2), np.uint16)
        rows[..., 0] = np.array(numbers, np.uint16)[:, None]
        rows[..., 1] = np.arange(scale.lines)
        return rows

    def line(self, row: Array, part_of_row: int, scale: Scale) -> Row:  # noqa: ARG002 - the protocol's
        """Return one line of text."""
        number, line = row.tolist()
        if not self._kitty:
            return (Segment(" " * scale.columns, Style(bgcolor=hex_of(GROUND), meta={"picture": number})),)
        style = Style(color=Color.from_ansi(number), bgcolor=hex_of(GROUND))
        return (Segment(placeholders(line, scale.columns, self._canvas.process), style),)


@lru_cache(maxsize=16)
def picture_scales(size: tuple[int, int], cell: tuple[int, int]) -> tuple[Scale, ...]:
    """Return the scales of pictures of this height and width, for cells of this width and height."""
    sizes = []
    for lines in range(MOST_LINES, LEAST_LINES - 1, -1):
        columns = round(lines * cell[1] * size[1] / (size[0] * cell[0]))
        if 1 <= columns <= MOST_COLUMNS:
            sizes.append(Scale(f"{columns}x{lines}", columns, lines))
    return tuple(sizes)


def pictured(renderer: Renderer, canvas: Canvas | None, owner: Hashable, count: int) -> Renderer:
    """Return the renderer of pictures for one of images, if the terminal shows them."""
    if canvas is None or canvas.mode == "off" or count > MOST_PICTURES or not isinstance(renderer, Pictured):
        return renderer
    found = PictureRenderer(renderer, canvas, owner)
    return found if found.scales else renderer
