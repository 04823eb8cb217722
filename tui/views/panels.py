"""The task's panels beside its board, and the player of panels that contain a clip."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ...envs.fields import Array
from ...envs.panels import Glyph
from ...training.telemetry.description import ShapedPanel
from ..boards import Renderer, Scale, heading, named
from ..drawing.panels import BORDER, Section
from ..drawing.styles import FAINT, Row, blank, styled

HIGHEST = 18
LOW, SLIM = 9, 30
FEWEST = 5
USUAL = ("wide", "roomy", "close", "snug", "tight")
STRETCHED = {"bars", "table", "list"}
PLANES = 2
FRAME_SECONDS = 0.16
LAST_FRAME_SECONDS = 1.0
"""The last frame of a clip is shown at least this much longer."""


class ClipPlayer:
    """Plays a clip to its end, then the newest one. Clips that arrive meanwhile are left out."""

    def __init__(self) -> None:
        self._newest: dict[str, Array] = {}
        self._begun = 0.0

    def frames(self, boards: Mapping[str, Array], now: float) -> tuple[dict[str, Array], int, int]:
        """Return the present frame, its number from 1, and the number of frames.

        Args:
            boards: A panel's fields, each `(T, H, W)`.
            now: Seconds since the epoch.
        """
        count = next(len(pictures) for pictures in boards.values())
        running = self._begun <= now < self._begun + FRAME_SECONDS * count + LAST_FRAME_SECONDS
        if not running and (
            not self._newest or any(not np.array_equal(boards[name], old) for name, old in self._newest.items())
        ):
            self._newest, self._begun = dict(boards), now
        shown = min(count - 1, int((now - self._begun) / FRAME_SECONDS))
        return {name: pictures[shown] for name, pictures in self._newest.items()}, shown + 1, count


class PanelSection:
    """One panel as a section: at a modest scale, or as large as possible if its cells have layers."""

    def __init__(self, panel: ShapedPanel, renderer: Renderer) -> None:
        self.panel, self._renderer = panel, renderer
        self._clip = ClipPlayer() if panel.kind == "cells" and len(panel.shape) > PLANES else None

    def scale(self, width: int) -> Scale:
        """Return the scale for `width` columns within the frame."""
        found = [scale for scale in self._renderer.scales if scale.columns <= width]
        if self.panel.layers or self.panel.kind == "grid":
            found = [scale for scale in found if scale.lines <= HIGHEST]
        elif self.panel.kind in {"cells", "pixels", "shades"}:
            found = [scale for scale in found if scale.lines <= LOW and scale.columns <= SLIM]
        usual = [scale for scale in found if scale.name in USUAL and not self.panel.layers]
        scale = (usual or found or [self._renderer.scales[-1]])[0]
        return replace(scale, columns=max(width, scale.columns)) if self.panel.kind in STRETCHED else scale

    def height(self, width: int) -> int:
        """Return the lines that it takes in `width` columns including its frame; the fewest if they vary."""
        return 2 + (FEWEST if self.panel.steps else self.scale(width - BORDER).lines)

    def section(self, boards: Mapping[str, Array], now: float, width: int, *, kept: bool = True) -> Section:
        """Return the section that shows an environment's boards in `width` columns, its frame included.

        Args:
            boards: The fields of the environment's panels.
            now: Seconds since the epoch.
            width: Columns.
            kept: Whether the boards are known; those of a past step may not be.
        """
        mine, note = {name: boards[name] for name in self.panel.fields}, heading(self.panel.columns, width - BORDER)
        if self._clip is not None:
            mine, number, count = self._clip.frames(mine, now)
            note = f"replay {number}/{count}" if number < count else "last frame"

        def rows(width: int, _: int) -> list[Row]:
            if not kept:
                return [(styled("not kept", FAINT),), *[()] * (self.scale(width).lines - 1)]
            return self._rows(stacked(self.panel, mine), width)

        return Section(self.panel.title, rows, fills=bool(self.panel.steps), note=note, whole=True, least=FEWEST)

    def _rows(self, board: Array, width: int) -> list[Row]:
        scale = self.scale(width)
        prepared = self._renderer.prepare(board[None], scale)[0]
        margin = max(0, width - scale.columns) // 2 if self.panel.layers else 0
        rows: list[Row] = [
            (blank(margin), *self._renderer.line(prepared[at // scale.span], at % scale.span, scale))
            for at in range(scale.lines)
        ]
        while rows and self.panel.steps and not "".join(segment.text for segment in rows[-1]).strip():
            rows.pop()
        return rows


def stacked(panel: ShapedPanel, boards: Mapping[str, Array]) -> Array:
    """Return a panel's field stacked with the fields of its layers, `(..., 1 + layers)`; without layers, the field."""
    if not panel.layers:
        return boards[panel.field]
    return np.stack([boards[name] for name in panel.fields], axis=-1)


def with_sight(panel: ShapedPanel, boards: Array, seat: int) -> Array:
    """Return boards `(..., H, W)` on which the cells that a seat sees are marked, if the panel says which these are."""
    if panel.sight is None:
        return boards
    code, reach, marked = panel.sight.seat + seat, panel.sight.cells, boards.copy()
    for *board, row, column in np.argwhere(boards == code).tolist():
        above, left = max(0, row - reach), max(0, column - reach)
        marked[tuple(board)][above : row + reach + 1, left : column + reach + 1] += panel.sight.marked
    return marked


def legend(panel: ShapedPanel, board: Array, width: int, *, colors: bool) -> list[Row]:
    """Return the names of all glyphs on a board in order of appearance; for a grid, the names of all actions.

    Glyphs of the same name are counted together. For pixels, these are the colors that have a meaning.
    """
    if panel.kind in {"grid", "pixels"}:
        return [named(glyph, width, colors=colors) for glyph in panel.glyphs]
    codes, first, counts = np.unique(board, return_index=True, return_counts=True)
    found: dict[str, tuple[Glyph, int]] = {}
    for _, code, count in sorted(zip(first.tolist(), codes.tolist(), counts.tolist(), strict=True)):
        if code < len(panel.glyphs) and (glyph := panel.glyphs[code]).name:
            shown, total = found.get(glyph.name, (glyph, 0))
            found[glyph.name] = shown, total + count
    return [named(glyph, width, colors=colors, count=count) for glyph, count in found.values()]
