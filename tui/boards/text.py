"""The renderer of text boards, which environments draw themselves in their own colors."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import numpy as np
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

from ...envs.fields import Array
from ...envs.text import CODE, GROUND, LETTER
from ...training.telemetry.description import ShapedPanel
from ..drawing import styles
from .scale import Scale

COLORS = ("#000000", styles.RED, styles.GREEN, styles.YELLOW, styles.ACCENT, styles.MAGENTA, styles.CYAN, styles.BRIGHT)
PARTS = 8
"""A text that scrolls is shown in as many eighths of its lines as there is room for."""
STRANGER = "·"
"""Replaces characters that are not printable, or are not one column wide."""


class TextRenderer:
    """Text as it is, or with a space after every letter, which makes the cells of a grid nearly square."""

    def __init__(self, panel: ShapedPanel, *, colors: bool) -> None:
        height, width = panel.shape
        self._colors = colors
        airy = () if panel.close else (Scale("wide", 2 * width, height),)
        lines = [height * part // PARTS for part in range(PARTS, 1, -1)] if panel.scrolls else [height]
        self.scales = (*airy, *(Scale("close", width, high) for high in lines if high))

    def prepare(self, boards: Array, scale: Scale) -> Array:
        """Return cells by row: the last ones with letters, if there is no room for all."""
        cells = boards.astype(np.uint32, copy=False)
        if scale.lines == cells.shape[1]:
            return cells
        written: Any = (cells & np.uint32(CODE)) > ord(" ")
        ends = [int(np.flatnonzero(rows)[-1]) + 1 if rows.any() else 0 for rows in written.any(axis=2)]
        firsts = [max(0, end - scale.lines) for end in ends]
        return np.stack([board[first : first + scale.lines] for board, first in zip(cells, firsts, strict=True)])

    def line(self, row: Array, part_of_row: int, scale: Scale) -> styles.Row:  # noqa: ARG002 - the protocol's
        """Return one line, with cells of the same colors in one segment."""
        gap = " " if scale.name == "wide" else ""
        colors = row >> np.uint32(GROUND)
        cells = zip(colors.tolist(), (row & np.uint32(CODE)).tolist(), strict=True)
        return tuple(
            Segment("".join(_letter(code) + gap for _, code in run), self._style(bits))
            for bits, run in groupby(cells, key=lambda cell: cell[0])
        )

    def _style(self, bits: int) -> Style:
        """The style of a letter on a background; without colors, letters with a background are reversed."""
        ground, letter = bits & 15, bits >> (LETTER - GROUND)
        if not self._colors:
            return Style(reverse=True) if ground else styles.style_of()
        if not ground:
            return styles.style_of(COLORS[letter - 1] if letter > 1 else styles.TEXT)
        back = COLORS[ground - 1]
        return styles.style_of(COLORS[letter - 1] if letter and letter != ground else styles.GROUND, back)


def _letter(code: int) -> str:
    letter = chr(code) if code else " "
    return letter if letter.isprintable() and cell_len(letter) == 1 else STRANGER
