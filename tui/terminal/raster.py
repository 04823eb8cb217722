"""Lines of a screen as pixels, drawn with Pillow: blocks, frames and dots are rectangles, only letters need a font."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.style import Style
from textual.strip import Strip

from ...envs import BadParameter
from ..drawing.styles import GROUND, hex_of
from .svg import HEIGHT, SIZE, WIDTH, colors, rectangles

FONTS = ("DejaVuSansMono.ttf", "LiberationMono-Regular.ttf", "Menlo.ttc")
MAX_CACHED = 4096


class CannotExport(BadParameter):
    """An episode cannot be written in that form."""

    title = "Cannot export"


def pillow() -> Any:
    """Return Pillow.

    Raises:
        CannotExport: It is not installed.
    """
    try:
        import PIL.Image
        import PIL.ImageDraw
        import PIL.ImageFont
    except ImportError as error:
        raise CannotExport("Pillow is missing, which draws letters and GIFs: pip install 'pac-tui[video]'") from error
    return PIL


def drawn(lines: Sequence[Strip]) -> NDArray[np.uint8]:
    """Return lines of a screen as a picture `(H, W, 3)`; all are as wide as the widest."""
    columns = max((line.cell_length for line in lines), default=0)
    return np.concatenate(
        [_line(tuple((text, style or Style()) for text, style, _ in line), columns) for line in lines]
    )


@lru_cache(maxsize=MAX_CACHED)
def _line(pieces: tuple[tuple[str, Style], ...], columns: int) -> NDArray[np.uint8]:
    """Draw one line; lines of boards repeat from step to step."""
    images = pillow()
    image = images.Image.new("RGB", (round(columns * WIDTH), round(HEIGHT)), hex_of(GROUND))
    pen = images.ImageDraw.Draw(image)
    pen.font = _font()
    left = 0.0
    for text, style in pieces:
        front, back = colors(style)
        _fill(pen, (left, 0), (len(text) * WIDTH, HEIGHT), back)
        for index, letter in enumerate(text):
            _write(pen, letter, left + index * WIDTH, front)
        left += len(text) * WIDTH
    return np.asarray(image)


def _write(pen: Any, letter: str, x: float, color: str) -> None:
    found = rectangles(letter)
    if found is None:
        if letter != " ":
            pen.text((x + WIDTH / 2, HEIGHT / 2), letter, fill=color, anchor="mm")
        return
    for box in found:
        _fill(pen, (x + box.x, box.y), (box.width, box.height), color)


def _fill(pen: Any, at: tuple[float, float], size: tuple[float, float], color: str) -> None:
    """Fill a rectangle of at least one pixel; Pillow includes both corners."""
    (x, y), (width, height) = at, size
    pen.rectangle((x, y, x + max(0.0, width - 1), y + max(0.0, height - 1)), fill=color)


@lru_cache(maxsize=1)
def _font() -> Any:
    """A monospaced font if a known one is installed, otherwise Pillow's own font."""
    fonts = pillow().ImageFont
    for name in FONTS:
        try:
            return fonts.truetype(name, SIZE)
        except OSError:
            continue
    return fonts.load_default(SIZE - 2)
