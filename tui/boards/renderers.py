"""The renderers of all kinds of panels, which draw boards line by line at several scales."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...envs.fields import Array
from ...training.telemetry.description import ShapedPanel
from ..drawing.styles import FAINT, Row, fit, styled
from .cells import CellStyles
from .pixels import PixelRenderer
from .scale import Renderer, Scale
from .shades import ShadeRenderer
from .shares import ShareRenderer
from .text import TextRenderer
from .values import NameListRenderer, ValueRenderer, value_renderer

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
