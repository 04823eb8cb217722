"""An environment's own picture, made small enough for a terminal."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

HEIGHT = 64
WIDTH = 96
"""The largest picture kept: 32 rows of half blocks."""


def shrink(picture: NDArray[np.uint8], shape: tuple[int, int]) -> NDArray[np.uint8]:
    """Return `(H, W, 3)` reduced to `shape`, every pixel the mean of the area it covers."""
    height, width = shape
    rows = np.linspace(0, picture.shape[0], height + 1).astype(np.intp)
    columns = np.linspace(0, picture.shape[1], width + 1).astype(np.intp)
    sums = np.add.reduceat(np.add.reduceat(picture, rows[:-1], axis=0, dtype=np.float32), columns[:-1], axis=1)
    areas = np.diff(rows)[:, None, None] * np.diff(columns)[None, :, None]
    small: NDArray[np.uint8] = (sums / areas).astype(np.uint8)
    return small


def picture_shape(env: gymnasium.Env[Any, Any]) -> tuple[int, int, int] | None:
    """Return the shape of an environment's small picture, or None if it cannot be drawn into an array."""
    if env.render_mode != "rgb_array":
        return None
    try:
        picture = env.render()
    except Exception:
        return None
    if not isinstance(picture, np.ndarray) or picture.ndim != 3 or picture.shape[2] != 3:
        return None
    scale = min(1.0, HEIGHT / picture.shape[0], WIDTH / picture.shape[1])
    return max(1, round(picture.shape[0] * scale)), max(1, round(picture.shape[1] * scale)), 3
