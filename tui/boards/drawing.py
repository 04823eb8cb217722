"""What a board of each kind looks like, at several scales, line by line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from rich.segment import Segment
from rich.style import Style

from ...envs.task import Array
from ...training.description import PanelLook
from ..ink import CYAN, FAINT, SOFT, Row, bar, blank, fit, part
from ..numbers import figure
from .cells import CellLooks
from .letters import Letters
from .scale import Scale

MAX_CACHED = 8192
LABEL = 12
VALUE = 9


class Drawing(Protocol):
    """How one panel is drawn. A board is prepared for a scale, as rows to compare and to draw lines from."""

    @property
    def scales(self) -> tuple[Scale, ...]:
        """The sizes it can be drawn at, largest first."""

    def prepare(self, boards: Array, scale: Scale) -> Array:
        """Return boards `(count, ...)` as `(count, lines / span, ...)`."""

    def line(self, row: Array, part_of_row: int, scale: Scale) -> Row:
        """Return one line of text of a prepared row."""


class Cells:
    """Codes looked up in glyphs: huge, large, wide, narrow, and two cells to a character."""

    def __init__(self, panel: PanelLook, *, colors: bool) -> None:
        height, width = panel.shape
        self._looks = CellLooks(panel.glyphs, colors=colors)
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
        """Codes by row; two rows together where a character holds two."""
        if scale.name != "half":
            return boards
        count, height, width = boards.shape
        if height % 2:
            boards = np.concatenate([boards, np.zeros((count, 1, width), boards.dtype)], axis=1)
        return boards.reshape(count, -(-height // 2), 2 * width)

    def line(self, row: Array, part_of_row: int, scale: Scale) -> Row:
        """One line, from the cache: rows of cells repeat."""
        key = (scale.name, part_of_row, row.tobytes())
        found = self._rows.get(key)
        if found is None:
            if len(self._rows) >= MAX_CACHED:
                self._rows.clear()
            found = self._rows[key] = self._looks.line(row, part_of_row, scale.name)
        return found


class Pixels:
    """A picture in half blocks, enlarged or reduced by a whole number."""

    FACTORS = (8, 6, 4, 3, 2, 1, -2, -3, -4, -6, -8)

    def __init__(self, panel: PanelLook) -> None:
        height, width, _ = panel.shape
        self._styles: dict[bytes, Style] = {}
        sizes = [(factor, self._length(height, factor), self._length(width, factor)) for factor in self.FACTORS]
        self.scales = tuple(Scale(str(factor), w, -(-h // 2)) for factor, h, w in sizes if h >= 1 and w >= 4) or (
            Scale("1", width, -(-height // 2)),
        )

    @staticmethod
    def _length(length: int, factor: int) -> int:
        return length * factor if factor > 0 else length // -factor

    def prepare(self, boards: Array, scale: Scale) -> Array:
        """Pixels `(count, lines, columns, 6)`: upper and lower colour of every character."""
        factor = int(scale.name)
        if factor > 0:
            pixels = boards.repeat(factor, axis=1).repeat(factor, axis=2)
        else:
            step, (count, height, width, _) = -factor, boards.shape
            cut = boards[:, : height // step * step, : width // step * step]
            blocks = cut.reshape(count, height // step, step, width // step, step, 3)
            pixels = blocks.mean(axis=(2, 4)).astype(np.uint8)
        if pixels.shape[1] % 2:
            pixels = np.concatenate([pixels, np.zeros_like(pixels[:, :1])], axis=1)
        count, height, width, _ = pixels.shape
        pairs = pixels.reshape(count, height // 2, 2, width, 3).transpose(0, 1, 3, 2, 4)
        return np.ascontiguousarray(pairs).reshape(count, height // 2, width, 6)

    def line(self, row: Array, part_of_row: int, scale: Scale) -> Row:  # noqa: ARG002 - the protocol's
        """One line of half blocks, runs of equal ones together."""
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
            found = self._styles[pair] = Style(color=f"#{pair[:3].hex()}", bgcolor=f"#{pair[3:].hex()}")
        return found


class Values:
    """Numbers with labels: as bars, each relative to the largest of its board, or as a table."""

    def __init__(self, panel: PanelLook) -> None:
        (count,) = panel.shape
        self._labels = panel.labels or tuple(str(index) for index in range(count))
        self._bars = panel.kind == "bars"
        self.scales = (Scale("roomy", 44, count), Scale("close", 30, count), Scale("tight", 16, count))

    def prepare(self, boards: Array, scale: Scale) -> Array:  # noqa: ARG002 - the protocol's
        """Values beside the largest of their board and their own number."""
        values = np.asarray(boards, np.float32)
        most = np.abs(values).max(axis=1, keepdims=True, initial=1e-9) * np.ones_like(values)
        index = np.broadcast_to(np.arange(values.shape[1], dtype=np.float32), values.shape)
        return np.stack([values, most, index], axis=2)

    def line(self, row: Array, part_of_row: int, scale: Scale) -> Row:  # noqa: ARG002 - the protocol's
        """Label, bar and number, as far as there is room."""
        value, most, index = (float(number) for number in row)
        number = part(f"{figure(value):>{VALUE}}")
        label = self._labels[int(index)]
        if scale.name == "tight" or not self._bars:
            return (part(fit(label, scale.columns - VALUE - 1), SOFT), blank(1), number)
        name = LABEL if scale.name == "roomy" else LABEL // 2
        wide = scale.columns - VALUE - name - 2
        filled = bar(abs(value) / most, wide, CYAN if value >= 0 else FAINT)
        return (part(fit(label, name), SOFT), blank(1), *filled, blank(1), number)


class Nothing:
    """A task without a board: a line that says so."""

    scales: tuple[Scale, ...] = (Scale("line", 18, 1),)

    def prepare(self, boards: Array, scale: Scale) -> Array:  # noqa: ARG002 - the protocol's
        """One row, always the same."""
        return np.zeros((len(boards), 1, 1), np.uint8)

    def line(self, row: Array, part_of_row: int, scale: Scale) -> Row:  # noqa: ARG002 - the protocol's
        """What stands in place of a board."""
        return (part(fit("nothing to draw", scale.columns), FAINT),)


LETTERED: dict[str, Callable[..., Drawing]] = {"cells": Cells, "text": Letters}
KINDS: dict[str, Callable[[PanelLook], Drawing]] = {"pixels": Pixels, "bars": Values, "table": Values}


def drawing_of(panel: PanelLook | None, *, colors: bool = True) -> Drawing:
    """Return how `panel` is drawn; `colors` tells whether the terminal shows any."""
    if panel is not None and panel.kind in LETTERED:
        return LETTERED[panel.kind](panel, colors=colors)
    return KINDS[panel.kind](panel) if panel is not None and panel.kind in KINDS else Nothing()
