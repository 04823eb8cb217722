"""Environments `lo..hi` of the buffers, stepped by the compiled kernels; and which states are possible."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..driver import Kernels, Limits, NativeGame, are_within
from ..task import Task
from . import layout as at
from .kernels import reset_envs, show_envs, step_frames, step_placements
from .layout import Ints
from .rules import MOST_SPEED_UPS
from .task import TASKS
from .views import TABLE, views_of

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


def possible(_: object, states: Ints) -> NDArray[np.bool_]:
    """Return which of `(environments, WORDS)` states the game can be in."""
    reserve = states[:, at.RESERVE : at.RESERVE + at.PILLS_KEPT // 16].astype(np.uint64)
    pills = reserve[..., None] >> np.arange(0, 64, 4, dtype=np.uint64) & np.uint64(15)
    fits = (states[:, at.TURN] & 1 == 1) | (states[:, at.COLUMN] < at.COLUMNS - 1)
    found: NDArray[np.bool_] = are_within(LIMITS, states) & fits & (pills < at.COLORS * at.COLORS).all(axis=(1, 2))
    return found


def kernels(task: Task) -> Kernels:
    """Return the kernels of placements or of frames."""
    return Kernels(reset_envs, step_placements if task.masked else step_frames, show_envs)


GAME = NativeGame(TABLE, views_of, at.EPISODES, kernels, possible, tuple(family.name for family in TASKS))
