"""Checks which states are possible, as far as kernels rely on it; kernels do not check again."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..driver import Limits
from .layout import (
    CHAIN,
    COLORS,
    COLUMN,
    COLUMNS,
    FIRST,
    LEVEL,
    LEVELS,
    NEXT_FIRST,
    OUTCOME,
    OVER,
    PILLS_KEPT,
    RESERVE,
    ROW,
    ROWS,
    RUNNING,
    SPEED,
    SPEED_UPS,
    SPEEDS,
    STAGE,
    TURN,
    WORDS,
    Ints,
)
from .rules import MOST_SPEED_UPS

LIMITS = Limits(
    WORDS,
    {
        (STAGE, 1): (0, OVER),
        (ROW, 1): (0, ROWS - 1),
        (COLUMN, 1): (0, COLUMNS - 1),
        (TURN, 1): (0, 3),
        (FIRST, 2): (0, COLORS - 1),
        (NEXT_FIRST, 2): (0, COLORS - 1),
        (SPEED, 1): (0, len(SPEEDS) - 1),
        (SPEED_UPS, 1): (0, MOST_SPEED_UPS),
        (CHAIN, 1): (0, ROWS * COLUMNS),
        (LEVEL, 1): (0, LEVELS),
        (OUTCOME, 1): (RUNNING, RUNNING),
    },
)


def possible(states: Ints) -> NDArray[np.bool_]:
    """Return which of `(environments, WORDS)` states the game can be in."""
    reserve = states[:, RESERVE : RESERVE + PILLS_KEPT // 16].astype(np.uint64)
    pills = reserve[..., None] >> np.arange(0, 64, 4, dtype=np.uint64) & np.uint64(15)
    fits = (states[:, TURN] & 1 == 1) | (states[:, COLUMN] < COLUMNS - 1)
    found: NDArray[np.bool_] = LIMITS.hold(states) & fits & (pills < COLORS * COLORS).all(axis=(1, 2))
    return found
