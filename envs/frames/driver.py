"""Environments `lo..hi` of the buffers, stepped by the compiled kernels; and which states are possible."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..driver import Kernels, NativeGame, are_within
from . import layout as at
from .kernels import reset_envs, show_envs, step_envs
from .layout import Ints
from .views import TABLE, FrameViews, views_of

KERNELS = Kernels(reset_envs, step_envs, show_envs)


def possible(v: FrameViews, states: Ints) -> NDArray[np.bool_]:
    """Return which of `(environments, WORDS)` states are possible."""
    limits = {
        (at.EPISODES, 1): (0, 1 << 62),
        (at.STEPS, 1): (0, v.numbers.steps - 1),
        (at.STAGE, 1): (0, v.numbers.shapes - 1),
        (at.ROW, 1): (0, at.ROWS - 1),
        (at.COLUMN, 1): (0, at.COLUMNS - 1),
        (at.DISTANCE, 2): (0, at.FARTHEST),
    }
    for drifter in range(at.MOST_DRIFTERS):
        me = at.DRIFTERS + drifter * at.DRIFTER_WORDS
        limits[me + at.DRIFTER_ROW, 1] = 0, at.HEIGHT - at.DRIFTER
        limits[me + at.DRIFTER_COLUMN, 1] = 0, at.WIDTH - at.DRIFTER
        limits[me + at.DOWN, 2] = min(at.SPEEDS), max(at.SPEEDS)
    return are_within(limits, states)


GAME = NativeGame(TABLE, views_of, at.EPISODES, lambda _: KERNELS, possible, (at.NAME,))
