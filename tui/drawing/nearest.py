"""Colors of terminals that have few: the nearest of 256, and letters that can be read in sixteen.

Rich's choice of 256 makes dark and muted colors black or saturated.
"""

from __future__ import annotations

from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray
from rich.color import Color, ColorSystem
from rich.segment import Segment
from rich.style import Style
from textual.color import Color as Background
from textual.filter import LineFilter

MAX_CACHED = 8192
FIRST = 16
"""The number of the first color that is the same in all terminals: a cube of 216 colors, then 24 grays."""
LEVELS, GRAYS = (0, 95, 135, 175, 215, 255), range(8, 248, 10)
BLACK, WHITE = 0, 15
MIDDLE = 0.23
"""The luminance with the same contrast to black and to white."""
LEAST_CONTRAST = 2.5
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


class LegibleFilter(LineFilter):
    """Writes letters in black or white where sixteen colors leave too little contrast with their background."""

    def apply(self, segments: list[Segment], background: Background) -> list[Segment]:  # noqa: ARG002 - Textual's
        """Return the segments of a line; those without letters are pictures, and keep their colors."""
        return [
            segment
            if segment.control or segment.style is None or not any(map(str.isalnum, segment.text))
            else segment._replace(style=_legible(segment.style))
            for segment in segments
        ]


@lru_cache(maxsize=MAX_CACHED)
def _legible(style: Style) -> Style:
    if style.color is None or style.bgcolor is None:
        return style
    color, ground = (_luminance(shade.downgrade(ColorSystem.STANDARD)) for shade in (style.color, style.bgcolor))
    if max(color, ground) >= LEAST_CONTRAST * min(color, ground):
        return style
    return style + Style(color=Color.from_ansi(BLACK if ground > MIDDLE else WHITE))


def _luminance(color: Color) -> float:
    """Return the luminance of one of sixteen colors (WCAG 2), plus 0.05: the ratio of two is their contrast."""
    levels = np.array(color.get_truecolor()) / 255
    return 0.05 + float(np.array([0.2126, 0.7152, 0.0722]) @ levels**2.2)


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
