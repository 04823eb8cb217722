"""Checks which states are possible, as far as kernels rely on it; kernels do not check again."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..driver import Limits, are_within
from . import layout as at
from .layout import Ints
from .rules import MOST_SPEED_UPS

LIMITS: Limits = {
    (at.STAGE, 1): (0, at.OVER),
    (at.ROW, 1): (0, at.ROWS - 1),
    (at.COLUMN, 1): (0, at.COLUMNS - 1),
    (at.TURN, 1): (0, 3),
    (at.FIRST, 2): (0, at.COLORS - 1),
    (at.NEXT_FIRST, 2): (0, at.COLORS - 1),
    (at.SPEED, 1): (0, len(at.SPEEDS) - 1),
    (at.SPEED_UPS, 1): (0, MOST_SPEED_UPS),
    (at.CHAIN, 1): (0, at.ROWS * at.COLUMNS),
    (at.LEVEL, 1): (0, at.LEVELS),
    (at.OUTCOME, 1): (at.RUNNING, at.RUNNING),
}


def possible(states: Ints) -> NDArray[np.bool_]:
    """Return which of `(environments, WORDS)` states the game can be in."""
    reserve = states[:, at.RESERVE : at.RESERVE + at.PILLS_KEPT // 16].astype(np.uint64)
    pills = reserve[..., None] >> np.arange(0, 64, 4, dtype=np.uint64) & np.uint64(15)
    fits = (states[:, at.TURN] & 1 == 1) | (states[:, at.COLUMN] < at.COLUMNS - 1)
    found: NDArray[np.bool_] = are_within(LIMITS, states) & fits & (pills < at.COLORS * at.COLORS).all(axis=(1, 2))
    return found
