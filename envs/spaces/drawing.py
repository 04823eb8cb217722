"""Boards of what environments render or observe: pictures, reduced in size, and text."""

from __future__ import annotations

import re
import textwrap
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..fields import Field
from ..panels import Panel
from ..text import ESCAPE, cells_of, size_of

HEIGHT = 64
WIDTH = 96
"""The largest size of a picture: 32 rows of half blocks."""
MORE_LINES, LEAST_COLUMNS = 2, 12
"""Spare room for text, as many environments add their last action after the first drawing."""
MOST_LINES, MOST_COLUMNS = 48, 160
STORY = 32, 44
"""Lines and columns of sentences."""
WORDS = re.compile(r"[^\W\d_]{2,}[,.:;]? [^\W\d_]{2,}[,.:;]? [^\W\d_]+")
MOST_BARS = 32
LEAST_SIDE = 16  # pixels
COLORS, CHANNELS = 3, 4
MODE_OF = {"picture": "rgb_array", "screen": "ansi"}
"""The render mode by the board's field."""


def shrink(picture: NDArray[np.uint8], shape: tuple[int, int]) -> NDArray[np.uint8]:
    """Return a picture `(H, W, 3)` reduced to `shape`; every pixel is the mean of the area that it covers."""
    height, width = shape
    rows = np.linspace(0, picture.shape[0], height + 1).astype(np.intp)
    columns = np.linspace(0, picture.shape[1], width + 1).astype(np.intp)
    # `reduceat` along the first axis takes six times as long as these sums by row.
    lines = np.stack([picture[lo:hi].sum(axis=0, dtype=np.uint32) for lo, hi in pairwise(rows.tolist())])
    sums = np.add.reduceat(lines, columns[:-1], axis=1)
    areas = np.diff(rows)[:, None, None] * np.diff(columns)[None, :, None]
    small: NDArray[np.uint8] = (sums / areas).astype(np.uint8)
    return small


def as_picture(drawn: Any) -> NDArray[np.uint8]:
    """Return what `render` returned as a picture `(H, W, 3)`.

    Raises:
        TypeError: It is not a picture.
    """
    picture = np.asarray(drawn)
    if picture.ndim == COLORS + 1 and len(picture) == 1:
        picture = picture[0]
    if picture.ndim == 2:
        picture = picture[..., None]
    colored = picture.ndim == COLORS and picture.shape[2] in {1, COLORS, CHANNELS} and picture.size
    if not colored or picture.dtype.kind not in "biuf":
        raise TypeError(f"render returned {type(drawn).__name__} of shape {np.shape(drawn)}")
    if picture.dtype.kind == "f":
        picture = 255 * picture.clip(0, 1)
    picture = picture[..., :COLORS].astype(np.uint8)
    return picture if picture.shape[2] == COLORS else np.repeat(picture, COLORS, axis=2)


def picture_in(picture: NDArray[np.uint8], shape: tuple[int, int]) -> NDArray[np.uint8]:
    """Return a picture reduced to `shape`; where all is black, one pixel is almost black: a board of 0 is not drawn."""
    small = shrink(picture, shape)
    if not small.any():
        small[0, 0, -1] = 1
    return small


def is_prose(text: str) -> bool:
    """Whether a text has sentences, and is not a drawing made of letters."""
    return bool(WORDS.search(ESCAPE.sub("", text)))


def text_panel(title: str, field: str, text: str) -> tuple[Panel, Field]:
    """Return the panel and the field for text like `text`: for sentences, or for a drawing of about its size."""
    if is_prose(text):
        return story_panel(title, field)
    rows, columns = size_of(text)
    shape = min(MOST_LINES, rows + MORE_LINES), max(LEAST_COLUMNS, min(MOST_COLUMNS, columns))
    return Panel("text", title, field, main=True), Field(field, "uint32", shape, timed=False)


def story_panel(title: str, field: str) -> tuple[Panel, Field]:
    """Return the panel and the field for sentences."""
    return Panel("text", title, field, main=True, close=True, scrolls=True), Field(field, "uint32", STORY, timed=False)


def written(text: str, panel: Panel, shape: tuple[int, int]) -> NDArray[np.uint32]:
    """Return text as cells `shape`: sentences wrapped, without those for whose lines there is no room."""
    return cells_of(wrapped(text, shape) if panel.scrolls else text, shape)


def wrapped(text: str, shape: tuple[int, int]) -> str:
    """Return the last lines of a text, of at most `shape` lines and columns."""
    rows, columns = shape
    kept = ESCAPE.sub("", text.expandtabs())[-2 * rows * columns :]
    lines = [part for line in kept.rstrip().splitlines() for part in (textwrap.wrap(line, columns) or [""])]
    return "\n".join(lines[-rows:])


def drawing(drawn: Any) -> tuple[Panel, Field]:
    """Return the panel and the field for what `render` returned.

    Raises:
        TypeError: `drawn` is neither a picture nor text.
    """
    if isinstance(drawn, str):
        return text_panel("Board", "screen", drawn)
    return pixels("Board", "picture", as_picture(drawn).shape)


def picture_shape(shape: tuple[int, ...]) -> tuple[int, int] | None:
    """Return height and width of bytes `(H, W)`, `(H, W, C)` or `(C, H, W)` with at most four channels; else None."""
    if len(shape) == 2:
        return shape[0], shape[1]
    if len(shape) != 3 or min(shape[0], shape[2]) > CHANNELS:
        return None
    return shape[:2] if shape[2] <= CHANNELS else shape[1:]


def in_color(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return an image, whose `picture_shape` is known, as `(H, W, 3)`; of a stack of gray frames, the newest one."""
    if image.ndim == 2:
        image = image[..., None]
    elif image.shape[2] > CHANNELS:
        image = np.moveaxis(image, 0, -1)
    return image if image.shape[2] == COLORS else np.repeat(image[..., -1:], COLORS, axis=-1)


def is_picture(shape: tuple[int, ...]) -> bool:
    """Whether a part of an observation, bytes of this shape, is large enough to be recognized as a picture."""
    size = picture_shape(shape)
    return size is not None and min(size) >= LEAST_SIDE


def pixels(title: str, field: str, shape: tuple[int, ...]) -> tuple[Panel, Field]:
    """Return the panel and the field for pictures `(H, W, ...)`."""
    scale = min(1.0, HEIGHT / shape[0], WIDTH / shape[1])
    size = max(1, round(shape[0] * scale)), max(1, round(shape[1] * scale)), 3
    return Panel("pixels", title, field, main=True), Field(field, "uint8", size, timed=False, low=0, high=255)
