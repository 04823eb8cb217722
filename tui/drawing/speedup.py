"""Speedup over N, drawn over the line of ideal speedup."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .chart import Reals, columns_of, dots, front
from .styles import ACCENT, FAINT, SIGNS, Row, styled

SPAN = 8


class Axis(NamedTuple):
    """The axis of both N and speedup: from `low` to `high`, linear or by doublings."""

    low: float
    high: float
    doubling: bool

    def place(self, values: Reals) -> Reals:
        """Return the places of values: 0 at the start of the axis and 1 at its end."""
        if not self.doubling:
            return (values - self.low) / (self.high - self.low)
        places: Reals = np.log2(np.maximum(values, self.low) / self.low) / np.log2(self.high / self.low)
        return places


def axis_of(counts: list[int], speedups: list[float]) -> Axis:
    """Return an axis that separates all of `counts`: by doublings if they span more than a factor of `SPAN`."""
    most = float(max(*counts, 2))
    if most <= SPAN * min(counts):
        return Axis(0.0, most, doubling=False)
    low = min(1.0, *(speedup for speedup in speedups if speedup > 0))
    return Axis(2.0 ** math.floor(math.log2(low)), most, doubling=True)


def against_ideal(counts: list[int], speedups: list[float], axis: Axis, width: int, height: int) -> list[Row]:
    """Return speedup over N as dots and a curve, drawn over the line of ideal speedup."""
    wide = width * front().wide
    line = np.linspace(0, 1, wide)
    ideal = np.where(np.arange(wide) % 4 == 0, line, np.nan)
    under = dots(ideal, ideal, (0.0, 1.0), height)
    across, along = axis.place(np.array(counts, float)), axis.place(np.array(speedups, float))
    low, high = columns_of(across, along, wide, (0.0, 1.0))
    over = dots(low, high, (0.0, 1.0), height)
    for one, other in zip(across.tolist(), along.tolist(), strict=True):
        x = min(width - 1, max(0, round(one * (width - 1))))
        y = min(height - 1, max(0, round((1 - other) * (height - 1))))
        over[y] = over[y][:x] + SIGNS.dot + over[y][x + 1 :]
    return [_overlaid(front, back) for front, back in zip(over, under, strict=True)]


def _overlaid(front: str, back: str) -> Row:
    """One row of two curves; the back one is visible where the front one is empty."""
    row, start = [], 0
    for at in range(1, len(front) + 1):
        if at == len(front) or (front[at] == " ") != (front[start] == " "):
            empty = front[start] == " "
            row.append(styled((back if empty else front)[start:at], FAINT if empty else ACCENT))
            start = at
    return tuple(row)
