"""The renderers of panels of numbers and names, with a line for each entry."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rich.segment import Segment

from ...envs.fields import Array
from ...envs.panels import Glyph
from ...training.telemetry.description import ShapedPanel
from ..drawing.numbers import readable, short
from ..drawing.styles import CYAN, FAINT, SOFT, TEXT, Row, bar, blank, fit, padded, spread, styled, width_of
from .cells import legible
from .scale import Scale

LABEL = 13
VALUE = 9
COLUMN = 6
LEAST_LABEL, LEAST_BAR = 9, 3
NONE = -1


def scales_of(count: int) -> tuple[Scale, ...]:
    """Return the scales of a panel with a line for each of `count` entries."""
    return (Scale("roomy", 44, count), Scale("close", 30, count), Scale("snug", 24, count), Scale("tight", 16, count))


class ValueRenderer:
    """Numbers with labels, as a table or as bars relative to a maximum or to the largest number of the board.

    If an entry has several numbers, the first is drawn as the bar.
    """

    def __init__(self, panel: ShapedPanel) -> None:
        count = panel.shape[0]
        self._labels = panel.labels or tuple(str(index) for index in range(count))
        self._bars = panel.kind == "bars"
        self._longest = max(map(len, self._labels), default=0)
        self._full = panel.full
        self._colors = panel.colors
        self.scales = scales_of(count)

    def prepare(self, boards: Array, scale: Scale) -> Array:  # noqa: ARG002 - the protocol's
        """Return for each entry its index, the value of a full bar, and its values."""
        values = np.asarray(boards, np.float32).reshape(*boards.shape[:2], -1)
        most = np.abs(values[..., 0]).max(axis=1, keepdims=True, initial=1e-9) * np.ones_like(values[..., 0])
        if self._full:
            most[:] = self._full
        index = np.broadcast_to(np.arange(values.shape[1], dtype=np.float32), most.shape)
        return np.concatenate([np.stack([index, most], axis=2), values], axis=2)

    def line(self, row: Array, part_of_row: int, scale: Scale) -> Row:  # noqa: ARG002 - the protocol's
        """Return label, bar and numbers, as many as fit."""
        index, most, *values = (float(number) for number in row)
        label, count = self._labels[int(index)], shown(len(values), scale.columns)
        text = "".join(f"{compact(value):>{COLUMN}}" for value in values[:count])
        number = styled(text if len(values) > 1 else f"{readable(values[0]):>{VALUE}}", TEXT if values[0] else FAINT)
        wide = len(number.text)
        name = min(self._longest, LABEL, max(LABEL // 2, scale.columns - wide - 2 - LEAST_BAR))
        if scale.columns - wide < LABEL or not self._bars:
            room = scale.columns - wide - 1
            return (
                styled(fit(label, max(0, room)), SOFT),
                blank(1),
                styled(fit(number.text, scale.columns - room - 1)),
            )
        color = self._colors[int(index)] if self._colors else CYAN
        filled = bar(abs(values[0]) / most, scale.columns - wide - name - 2, color if values[0] >= 0 else FAINT)
        return (styled(fit(label, name), SOFT), blank(1), *filled, blank(1), number)


def shown(count: int, width: int) -> int:
    """Return how many of an entry's numbers fit beside its label."""
    return max(1, min(count, (width - LEAST_LABEL) // COLUMN))


def heading(names: Sequence[str], width: int) -> str:
    """Return the names of the numbers, each above its column."""
    return "".join(f"{name:>{COLUMN}}" for name in names[: shown(len(names), width)]).lstrip()


def compact(value: float) -> str:
    """Return a number in less than a column's width."""
    text = readable(value)
    if len(text) < COLUMN:
        return text
    if abs(value) < 1:
        return f"{value:.{COLUMN - 3 - (value < 0)}f}"
    return short(float(f"{value:.{2 if value < 0 else 3}g}"))


class ThresholdRenderer:
    """Numbers with thresholds: those that are not zero, sorted by the thresholds that they have reached."""

    def __init__(self, panel: ShapedPanel) -> None:
        self._labels, self._colors, self._steps = panel.labels, panel.colors, panel.steps
        self.scales = scales_of(panel.shape[0])

    def reached(self, index: int, value: float) -> int:
        """Return how many thresholds a value has reached."""
        return sum(value >= step for step in self._steps[index])

    def prepare(self, boards: Array, scale: Scale) -> Array:  # noqa: ARG002 - the protocol's
        """Return indices and values of the entries in order, then `NONE`."""
        rows = np.full((*boards.shape, 2), NONE, np.float32)
        for board, row in zip(boards, rows, strict=True):
            for at, index in enumerate(self.order(board)):
                row[at] = index, board[index]
        return rows

    def order(self, board: Array) -> list[int]:
        """Return the indices of the entries that are not zero, those with the most thresholds reached first."""
        values = board.tolist()
        found = [index for index, value in enumerate(values) if value]
        return sorted(found, key=lambda index: (-self.reached(index, values[index]), -values[index], index))

    def strongest(self, board: Array, width: int) -> Row:
        """Return label and value of the first entries, as many as fit into `width` columns."""
        pieces: list[Segment] = []
        for index in self.order(board):
            text = f"{self._labels[index]} {readable(float(board[index]))} "
            if width_of(pieces) + len(text) > width + 1:
                break
            counts = self.reached(index, float(board[index])) > 0
            pieces.append(styled(text, self._color(index) if counts else FAINT))
        return tuple(pieces)

    def _color(self, index: int) -> str:
        return self._colors[index] if self._colors else CYAN

    def line(self, row: Array, part_of_row: int, scale: Scale) -> Row:  # noqa: ARG002 - the protocol's
        """Return label, bar, value and the next threshold."""
        index, value = int(row[0]), float(row[1])
        if index == NONE:
            return (blank(scale.columns),)
        steps, reached = self._steps[index], self.reached(index, value)
        following = steps[min(reached, len(steps) - 1)]
        color = self._color(index) if reached else FAINT
        number = styled(f"{readable(value)}/{readable(following)}".rjust(COLUMN), TEXT if reached else FAINT)
        name = scale.columns - COLUMN - 1 if scale.name == "tight" else LABEL - 2
        label = styled(fit(self._labels[index], name), color, bold=bool(reached))
        wide = scale.columns - name - COLUMN - 2
        middle = (blank(1), *bar(value / following, wide, color)) if wide > 0 else ()
        return (label, *middle, blank(1), number)


class NameListRenderer:
    """A list of codes: the glyph, name and note of each."""

    def __init__(self, panel: ShapedPanel, *, colors: bool) -> None:
        self._glyphs, self._legible = panel.glyphs, colors
        self.scales = scales_of(panel.shape[0])

    def prepare(self, boards: Array, scale: Scale) -> Array:  # noqa: ARG002 - the protocol's
        """Return a code per row."""
        return boards[..., None]

    def line(self, row: Array, part_of_row: int, scale: Scale) -> Row:  # noqa: ARG002 - the protocol's
        """Return one entry."""
        return named(self._glyphs[min(int(row[0]), len(self._glyphs) - 1)], scale.columns, colors=self._legible)


def named(glyph: Glyph, width: int, *, colors: bool, count: int = 1) -> Row:
    """Return a glyph with its name and the end of its note that fits into `width` columns."""
    room = max(0, width - 3)
    name = f"{glyph.name} x{count}" if count > 1 else glyph.name
    left = (
        styled(legible(glyph, colors=colors), glyph.color, ground=glyph.ground),
        blank(1),
        styled(fit(name, min(len(name), room)), TEXT),
    )
    return padded(spread(left, (styled(_ending(glyph.note, room - len(name) - 1), FAINT),), width), width)


def _ending(note: str, room: int) -> str:
    """Return as many of a note's last words as fit."""
    words = note.split(" ")
    while words and len(" ".join(words)) > room:
        words.pop(0)
    return " ".join(words)


def value_renderer(panel: ShapedPanel) -> ValueRenderer | ThresholdRenderer:
    """Return the renderer of bars with or without thresholds."""
    return ThresholdRenderer(panel) if panel.steps else ValueRenderer(panel)
