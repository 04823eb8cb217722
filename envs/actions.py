"""Actions of any kind: the scale of continuous ones, and random legal ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .fields import Array
from .task import Task


def scale_of(task: Task) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return center and half range of each component of a continuous action, `(K,)` each.

    The range of a component with one bound is 2; the range of a component without bounds is -1 to 1.
    """
    low, high = np.array(task.bounds, np.float64).T
    low = np.where(np.isfinite(low), low, np.where(np.isfinite(high), high - 2, -1))
    high = np.where(np.isfinite(high), high, low + 2)
    return ((low + high) / 2).astype(np.float32), ((high - low) / 2).astype(np.float32)


def random_actions(task: Task, uniform: NDArray[np.float64], legal: NDArray[np.bool_] | None = None) -> Array:
    """Return uniformly random legal actions, `(rows, *task.action.shape)`.

    Args:
        uniform: `(rows, num_actions)` random numbers, uniform in [0, 1).
        legal: Which actions are legal, `(rows, num_actions)`; all if None. A component without a legal choice gets its
            first one.
    """
    if task.bounds:
        centre, reach = scale_of(task)
        numbers: Array = centre + reach * (2 * uniform - 1).astype(np.float32)
        return numbers
    keys = uniform if legal is None else np.where(legal, uniform, -1)
    if not task.choices:
        chosen: Array = keys.argmax(axis=1)
        return chosen
    parts: list[Array] = np.split(keys, np.cumsum(task.choices)[:-1], axis=1)
    return np.stack([part.argmax(axis=1) for part in parts], axis=1)
