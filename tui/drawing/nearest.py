"""The nearest of a terminal's 256 colors. Rich's choice makes dark and muted colors black or saturated."""

from __future__ import annotations

from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray
from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual.color import Color as Background
from textual.filter import LineFilter

MAX_CACHED = 8192
FIRST = 16
"""The number of the first color that is the same in all terminals: a cube of 216 colors, then 24 grays."""
LEVELS, GRAYS = (0, 95, 135, 175, 215, 255), range(8, 248, 10)
CONES = np.array(
    [[0.4122, 0.5363, 0.0514], [0.2119, 0.6807, 0.1074], [0.0883, 0.2817, 0.6300]],
)
OPPONENTS = np.array(
    [[0.2105, 0.7936, -0.0041], [1.9780, -2.4286, 0.4506], [0.0259, 0.7828, -0.8087]],
)
"""The matrices of Oklab, in which equal distances look equally far apart."""


class NearestFilter(LineFilter):
    """Replaces each color by the nearest of 256."""

    def apply(self, segments: list[Segment], background: Background) -> list[Segment]:  # noqa: ARG002 - Textual's
        """Return the segments of a line in these colors."""
        return [
            segment if segment.control or segment.style is None else segment._replace(style=_nearest(segment.style))
            for segment in segments
        ]


@lru_cache(maxsize=MAX_CACHED)
def _nearest(style: Style) -> Style:
    color, ground = (shade and nearest_color(shade) for shade in (style.color, style.bgcolor))
    return style + Style.from_color(color, ground)


@lru_cache(maxsize=MAX_CACHED)
def nearest_color(color: Color) -> Color:
    """Return the color that looks most like `color`."""
    if color.triplet is None:
        return color
    distances = ((_colors() - _oklab(np.array([color.triplet]))) ** 2).sum(axis=1)
    return Color.from_ansi(FIRST + int(distances.argmin()))


@cache
def _colors() -> NDArray[np.float64]:
    cube = [(red, green, blue) for red in LEVELS for green in LEVELS for blue in LEVELS]
    return _oklab(np.array([*cube, *((gray, gray, gray) for gray in GRAYS)]))


def _oklab(colors: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return lightness and two axes of hue for colors `(count, 3)` of bytes."""
    shares = colors / 255
    light = np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)
    found: NDArray[np.float64] = np.cbrt(light @ CONES.T) @ OPPONENTS.T
    return found
