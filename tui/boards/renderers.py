"""The renderers of all kinds of panels, which draw boards line by line at several scales."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from rich.segment import Segment
from rich.style import Style

from ...envs.fields import Array
from ...envs.packed import BRIGHTEST, unpack_pixels
from ...training.telemetry.description import ShapedPanel
from ..drawing.styles import FAINT, SIGNS, Row, fit, style_of, styled
from .cells import CellStyles, brightness
from .pixels import MAX_CACHED, PixelRenderer, image_scales, in_pairs, runs
from .scale import Renderer, Scale
from .shares import ShareRenderer
from .text import TextRenderer
from .values import NameListRenderer, ValueRenderer, value_renderer

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
        self.size = height, self._width
        self.scales = image_scales(height, self._width)

    def images(self, boards: Array) -> Array:
        """Return pixels `(count, H, W, 3)` in the colors of the shades."""
        shades = np.array([list(bytes.fromhex(color[1:])) for color in self._shades], np.uint8)
        return shades[unpack_pixels(boards, self._width)]

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


MAX_CACHED = 8192
LAYERED = 4


class CellRenderer:
    """Codes of glyphs, at the scales huge, large, wide, narrow, and half, which has two cells per character."""

    def __init__(self, panel: ShapedPanel, *, colors: bool) -> None:
        height, width = panel.shape[-2:]
        self._cell_styles = CellStyles(panel.glyphs, panel.layers, colors=colors)
        self._rows: dict[tuple[str, int, bytes], Row] = {}
        half = (Scale("half", width, -(-height // 2)),) if colors else ()
        self.scales = (
            Scale("huge", 6 * width, 3 * height, 3),
            Scale("large", 4 * width, 2 * height, 2),
            Scale("wide", 2 * width, height),
            Scale("narrow", width, height),
            *half,
        )

    def prepare(self, boards: Array, scale: Scale) -> Array:
        """Return codes by row; with layers at scales that draw them, and with two rows joined at the scale half."""
        if boards.ndim == LAYERED and scale.span == 1:
            boards = boards[..., 0]
        if scale.name != "half":
            return boards
        count, height, width = boards.shape
        if height % 2:
            boards = np.concatenate([boards, np.zeros((count, 1, width), boards.dtype)], axis=1)
        return boards.reshape(count, -(-height // 2), 2 * width)

    def line(self, row: Array, part_of_row: int, scale: Scale) -> Row:
        """Return one line, from a cache since rows of cells repeat."""
        key = (scale.name, part_of_row, row.tobytes())
        found = self._rows.get(key)
        if found is None:
            if len(self._rows) >= MAX_CACHED:
                self._rows.clear()
            draw = self._cell_styles.line if row.ndim == 1 else self._cell_styles.layered
            found = self._rows[key] = draw(row, part_of_row, scale.name)
        return found


class EmptyRenderer:
    """The message of a task without a board."""

    scales: tuple[Scale, ...] = (Scale("line", 18, 1),)

    def prepare(self, boards: Array, scale: Scale) -> Array:  # noqa: ARG002 - the protocol's
        """Return one constant row per board."""
        return np.zeros((len(boards), 1, 1), np.uint8)

    def line(self, row: Array, part_of_row: int, scale: Scale) -> Row:  # noqa: ARG002 - the protocol's
        """Return the message."""
        return (styled(fit("no board", scale.columns), FAINT),)


RENDERERS: dict[str, Callable[..., Renderer]] = {
    "cells": CellRenderer,
    "text": TextRenderer,
    "list": NameListRenderer,
    "grid": ShareRenderer,
    "shades": ShadeRenderer,
}
KINDS: dict[str, Callable[[ShapedPanel], Renderer]] = {
    "pixels": PixelRenderer,
    "bars": value_renderer,
    "table": ValueRenderer,
}


def renderer_for(panel: ShapedPanel | None, *, colors: bool = True) -> Renderer:
    """Return the renderer of `panel`; `colors` says whether the terminal shows colors."""
    if panel is not None and panel.kind in RENDERERS:
        return RENDERERS[panel.kind](panel, colors=colors)
    return KINDS[panel.kind](panel) if panel is not None and panel.kind in KINDS else EmptyRenderer()
