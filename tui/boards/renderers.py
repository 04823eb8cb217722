"""The renderers of all kinds of panels, which draw boards line by line at several scales."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from rich.segment import Segment
from rich.style import Style

from ...envs.fields import Array
from ...training.telemetry.description import ShapedPanel
from ..drawing.styles import FAINT, GROUND, Row, fit, mixed, palette, styled
from .cells import CellStyles
from .scale import Renderer, Scale
from .shares import ShareRenderer
from .text import TextRenderer
from .values import NameListRenderer, ValueRenderer, value_renderer

MAX_CACHED = 8192
LAYERED = 4
BRIGHT_IMAGE = 160
"""Mean of an image, of 255, from which on it is dimmed: mostly white boards would outshine everything else."""
DIMMED = 0.5


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


class PixelRenderer:
    """An image in half blocks, enlarged or reduced by a whole number. Bright images are dimmed on dark terminals."""

    FACTORS = (8, 6, 4, 3, 2, 1, -2, -3, -4, -6, -8)

    def __init__(self, panel: ShapedPanel) -> None:
        height, width, _ = panel.shape
        self._styles: dict[bytes, Style] = {}
        self._dimmed: bool | None = None
        sizes = [(factor, self._length(height, factor), self._length(width, factor)) for factor in self.FACTORS]
        self.scales = tuple(Scale(str(factor), w, -(-h // 2)) for factor, h, w in sizes if h >= 1 and w >= 4) or (
            Scale("1", width, -(-height // 2)),
        )

    @staticmethod
    def _length(length: int, factor: int) -> int:
        return length * factor if factor > 0 else length // -factor

    def prepare(self, boards: Array, scale: Scale) -> Array:
        """Return pixels `(count, lines, columns, 6)`: the upper and lower color of every character."""
        if self._dimmed is None and boards.any():
            self._dimmed = palette().dark and float(boards.mean()) > BRIGHT_IMAGE
        factor = int(scale.name)
        if factor > 0:
            pixels = boards.repeat(factor, axis=1).repeat(factor, axis=2)
        else:
            step, (count, height, width, _) = -factor, boards.shape
            cut = boards[:, : height // step * step, : width // step * step]
            blocks = cut.reshape(count, height // step, step, width // step, step, 3)
            pixels = blocks.mean(axis=(2, 4)).astype(np.uint8)
        if pixels.shape[1] % 2:
            pixels = np.concatenate([pixels, pixels[:, -1:]], axis=1)
        count, height, width, _ = pixels.shape
        pairs = pixels.reshape(count, height // 2, 2, width, 3).transpose(0, 1, 3, 2, 4)
        return np.ascontiguousarray(pairs).reshape(count, height // 2, width, 6)

    def line(self, row: Array, part_of_row: int, scale: Scale) -> Row:  # noqa: ARG002 - the protocol's
        """Return one line of half blocks, with equal neighbors in one segment."""
        starts = np.flatnonzero(np.r_[True, (row[1:] != row[:-1]).any(axis=1)])
        ends = np.r_[starts[1:], len(row)]
        return tuple(
            Segment("▀" * int(end - start), self._style(row[start].tobytes()))
            for start, end in zip(starts, ends, strict=True)
        )

    def _style(self, pair: bytes) -> Style:
        found = self._styles.get(pair)
        if found is None:
            if len(self._styles) >= MAX_CACHED:
                self._styles.clear()
            above, below = (f"#{half.hex()}" for half in (pair[:3], pair[3:]))
            if self._dimmed:
                above, below = mixed(above, GROUND, DIMMED), mixed(below, GROUND, DIMMED)
            found = self._styles[pair] = Style(color=above, bgcolor=below)
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
