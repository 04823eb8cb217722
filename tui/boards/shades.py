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
from .cells import brightness
from .pixels import MAX_CACHED, image_scales, in_pairs, runs
from .scale import Scale

SHADE_COLORS = ("#121827", "#2a4f6e", "#45a29a", "#f2eec2")
"""The colors of the shades 0 to 3, of panels without colors; in reduced images, those between them."""
LEVELS = 85
"""Levels of brightness per shade."""
CHARACTERS = " .:-+*#"
"""Characters for two pixels without half blocks or colors, from both dark to both bright."""


class ShadeRenderer:
    """A packed image, enlarged or reduced by a whole number; in characters if there are no half blocks or no colors."""

    def __init__(self, panel: ShapedPanel, *, colors: bool) -> None:
        height, self._width = panel.shape
        self._colors, self._shades = colors, panel.colors or SHADE_COLORS
        self._inverted = brightness(self._shades[0]) > brightness(self._shades[-1])
        self.scales = image_scales(height, self._width)

    def prepare(self, boards: Array, scale: Scale) -> Array:
        """Return levels of brightness `(count, lines, columns, 2)`: upper and lower pixel of every character."""
        return in_pairs(unpack_pixels(boards, self._width)[..., None] * np.uint8(LEVELS), int(scale.name))

    def line(self, row: Array, part_of_row: int, scale: Scale) -> Row:  # noqa: ARG002 - the protocol's
        """Return one line, with equal neighbors in one segment."""
        if self._colors and SIGNS.braille:
            return tuple(
                Segment("▀" * length, _style(self._shades, int(pair[0]), int(pair[1]))) for pair, length in runs(row)
            )
        return tuple(self._characters(pair, length) for pair, length in runs(row))

    def _characters(self, pair: Array, length: int) -> Segment:
        mean = int(pair.mean())
        bright = BRIGHTEST * LEVELS - mean if self._inverted else mean
        letter = CHARACTERS[round(bright / (BRIGHTEST * LEVELS) * (len(CHARACTERS) - 1))]
        style = style_of(color_of(SHADE_COLORS, min(255, bright + LEVELS)), SHADE_COLORS[0])
        style = style if self._colors else style_of()
        return Segment(letter * length, style)


@lru_cache(maxsize=MAX_CACHED)
def _style(shades: tuple[str, ...], upper: int, lower: int) -> Style:
    return Style(color=color_of(shades, upper), bgcolor=color_of(shades, lower))


@lru_cache(maxsize=MAX_CACHED)
def color_of(shades: tuple[str, ...], level: int) -> str:
    """Return the color of a level from 0 to 255, between those of the shades."""
    shade, rest = divmod(level, LEVELS)
    low, high = (bytes.fromhex(shades[min(at, BRIGHTEST)][1:]) for at in (shade, shade + 1))
    return "#" + bytes(round(one + (two - one) * rest / LEVELS) for one, two in zip(low, high, strict=True)).hex()
