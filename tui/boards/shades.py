"""Packed images of four shades, in half blocks or in characters of different brightness."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from rich.segment import Segment
from rich.style import Style

from ...envs.fields import Array
from ...envs.packed import BRIGHTEST, unpack_pixels
from ...training.telemetry.description import ShapedPanel
from ..drawing.styles import SIGNS, Row, style_of
from .pixels import MAX_CACHED, image_scales, in_pairs, runs
from .scale import Scale

SHADE_COLORS = ("#121827", "#2a4f6e", "#45a29a", "#f2eec2")
"""The colors of the shades 0 to 3; in reduced images, those between them."""
LEVELS = 85
"""Levels of brightness per shade."""
CHARACTERS = " .:-+*#"
"""Characters for two pixels without half blocks or colors, from both dark to both bright."""


class ShadeRenderer:
    """A packed image, enlarged or reduced by a whole number; in characters if there are no half blocks or no colors."""

    def __init__(self, panel: ShapedPanel, *, colors: bool) -> None:
        height, self._width = panel.shape
        self._colors = colors
        self.scales = image_scales(height, self._width)

    def prepare(self, boards: Array, scale: Scale) -> Array:
        """Return levels of brightness `(count, lines, columns, 2)`: upper and lower pixel of every character."""
        return in_pairs(unpack_pixels(boards, self._width)[..., None] * np.uint8(LEVELS), int(scale.name))

    def line(self, row: Array, part_of_row: int, scale: Scale) -> Row:  # noqa: ARG002 - the protocol's
        """Return one line, with equal neighbors in one segment."""
        if self._colors and SIGNS.braille:
            return tuple(Segment("▀" * length, _style(int(pair[0]), int(pair[1]))) for pair, length in runs(row))
        return tuple(self._characters(pair, length) for pair, length in runs(row))

    def _characters(self, pair: Array, length: int) -> Segment:
        mean = int(pair.mean())
        letter = CHARACTERS[round(mean / (BRIGHTEST * LEVELS) * (len(CHARACTERS) - 1))]
        style = style_of(color_of(min(255, mean + LEVELS)), SHADE_COLORS[0]) if self._colors else style_of()
        return Segment(letter * length, style)


@lru_cache(maxsize=MAX_CACHED)
def _style(upper: int, lower: int) -> Style:
    return Style(color=color_of(upper), bgcolor=color_of(lower))


@lru_cache(maxsize=1 + BRIGHTEST * LEVELS)
def color_of(level: int) -> str:
    """Return the color of a level of brightness, from 0 to 255."""
    shade, rest = divmod(level, LEVELS)
    low, high = (bytes.fromhex(SHADE_COLORS[min(at, BRIGHTEST)][1:]) for at in (shade, shade + 1))
    return "#" + bytes(round(one + (two - one) * rest / LEVELS) for one, two in zip(low, high, strict=True)).hex()
