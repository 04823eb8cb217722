"""Boards of what environments render or observe: pictures, reduced in size, and text."""

from __future__ import annotations

import math
import re
import textwrap
import time
from collections.abc import Callable, Generator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..fields import Field
from ..panels import Panel
from ..text import ESCAPE, cells_of, size_of

HEIGHT = 64
WIDTH = 96
"""The largest size of a picture: 32 rows of half blocks."""
MOST_HEIGHT, MOST_WIDTH = 256, 320
"""That of the one picture that terminals with real pixels show in large."""
MOST_STEP = 16
"""The square of this is how many pixels can be added in 16 bits."""
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
    step = picture.shape[0] // height
    if picture.shape[:2] == (step * height, step * width) and step <= MOST_STEP:
        total = np.zeros((height, width, COLORS), np.uint16)
        for y, x in np.ndindex(step, step):
            total += picture[y::step, x::step]
        whole: NDArray[np.uint8] = (total // (step * step)).astype(np.uint8)
        return whole
    rows, columns = _parts(picture.shape[0], height), _parts(picture.shape[1], width)
    most = int(rows.sizes.max() * columns.sizes.max())
    lines: NDArray[Any] = picture.take(rows.first, 0).astype(np.uint16 if most <= MOST_STEP * MOST_STEP else np.uint32)
    for there, which in rows.rest:
        lines[there] += picture.take(which, 0)
    sums: NDArray[Any] = lines.take(columns.first, 1)
    for there, which in columns.rest:
        sums[:, there] += lines.take(which, 1)
    small: NDArray[np.uint8] = (sums / (rows.sizes[:, None, None] * columns.sizes[:, None])).astype(np.uint8)
    return small


class _Parts(NamedTuple):
    """Parts of a length: their first places, all further ones together with the parts that have them, and sizes."""

    first: NDArray[np.intp]
    rest: tuple[tuple[Any, NDArray[np.intp]], ...]
    sizes: NDArray[np.intp]


@lru_cache(maxsize=16)
def _parts(length: int, count: int) -> _Parts:
    edges = np.linspace(0, length, count + 1).astype(np.intp)
    first, sizes = edges[:-1], np.diff(edges)
    rest = []
    for offset in range(1, int(sizes.max())):
        there = sizes > offset
        rest.append((slice(None) if there.all() else np.flatnonzero(there), first[there] + offset))
    return _Parts(first, tuple(rest), sizes)


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


def is_picture(shape: tuple[int, ...]) -> bool:
    """Whether a part of an observation, bytes of this shape, is large enough to be recognized as a picture."""
    size = picture_shape(shape)
    return size is not None and min(size) >= LEAST_SIDE


def pixels(title: str, field: str, shape: tuple[int, ...]) -> tuple[Panel, Field]:
    """Return the panel and the field for pictures `(H, W, ...)`."""
    scale = min(1.0, HEIGHT / shape[0], WIDTH / shape[1])
    size = max(1, round(shape[0] * scale)), max(1, round(shape[1] * scale)), 3
    panel = Panel("pixels", title, field, main=True, size=(int(shape[0]), int(shape[1])))
    return panel, Field(field, "uint8", size, timed=False, low=0, high=255)


def large_picture(panel: Panel, board: Field) -> Field | None:
    """Return the field for one picture in large, of what is rendered; None if the board is not reduced."""
    if panel.field != "picture" or not panel.size or panel.size == board.shape[:2]:
        return None
    step = max(1, -(-panel.size[0] // MOST_HEIGHT), -(-panel.size[1] // MOST_WIDTH))
    shape = panel.size[0] // step, panel.size[1] // step, COLORS
    return Field("large", "uint8", shape, per="all", timed=False, low=0, high=255)


SHARE = 0.01
"""The largest share of a training's time that drawing may take."""
MAX_TURN = 0.005
"""Seconds after which no further board is drawn at once."""
FIRST = 0.1
"""How much of a board's first picture counts, for which a window or a context is opened once."""


class DrawingBudget:
    """Limits the time that drawing takes in this process.

    Args:
        clock: Returns the time in s.

    Attributes:
        parts: How many processes draw for the same training and wait for each other: each has this part of the share.
        seconds: How long the last picture took that was not the first of its board; 0 before.
        spent: How long all pictures took, in s.
        on_picture: Called with both after each picture.
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self.parts = 1
        self.seconds = self.spent = 0.0
        self.on_picture: Callable[[float, float], object] = lambda _seconds, _spent: None
        self._clock = clock
        self._open_at = -math.inf

    def allows(self, spare: float = 0.0) -> bool:
        """Return whether something may be drawn now, if the training waits for `spare` seconds anyway."""
        return self._clock() >= self._open_at or spare > self.seconds

    def spend(self, wanted: Sequence[int], first: int, known: set[int], spare: float = 0.0) -> Generator[int]:
        """Yield those of the wanted boards that may be drawn now, each to be drawn before the next.

        Args:
            wanted: Indices of boards, in ascending order.
            first: The first of them whose turn it is.
            known: Those that have been drawn before; others are added.
            spare: Seconds for which the training waits anyway. Drawing during these does not count.
        """
        if not self.allows(spare):
            return
        begin = before = self._clock()
        opening = 0.0
        try:
            for index in sorted(wanted, key=lambda index: index < first):
                if before - begin > max(MAX_TURN, spare):
                    break
                yield index
                now = self._clock()
                took, before = now - before, now
                self.spent += took
                if index in known:
                    self.seconds = took
                else:
                    known.add(index)
                    opening += took
                self.on_picture(self.seconds, self.spent)
        finally:
            now = self._clock()
            cost = max(0.0, now - begin - (1 - FIRST) * opening - spare)
            self._open_at = max(self._open_at, now + cost * self.parts / SHARE)


BUDGET = DrawingBudget()
"""That of this process."""


class Turns:
    """Shares the budget fairly between some boards: each is drawn before another is drawn again."""

    def __init__(self, budget: DrawingBudget = BUDGET) -> None:
        self._budget, self._next, self._known = budget, 0, set[int]()

    def choose(self, wanted: Sequence[int], spare: float = 0.0) -> Generator[int]:
        """Yield those of the wanted boards that may be drawn now, as `DrawingBudget.spend` does."""
        for index in self._budget.spend(wanted, self._next, self._known, spare):
            self._next = index + 1
            yield index


def limit_text(seconds: float) -> str:
    """Return how a picture that takes so many seconds is limited, for people; an empty text if nobody notices."""
    period = seconds / SHARE
    return f"a picture takes {1000 * seconds:.0f} ms: one every {period:.0f} s" if period >= 1 else ""
