"""Actions of any kind: their scale, and random legal ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .fields import Array
from .task import Task


def scale_of(task: Task) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return centre and reach of each number of a continuous action, `(K,)` each: its bounds are centre -+ reach.

    A number with one bound reaches 2 away from it; one without any lies within -1 and 1, as far as this is concerned.
    """
    low, high = np.array(task.bounds, np.float64).T
    low = np.where(np.isfinite(low), low, np.where(np.isfinite(high), high - 2, -1))
    high = np.where(np.isfinite(high), high, low + 2)
    return ((low + high) / 2).astype(np.float32), ((high - low) / 2).astype(np.float32)


def random_actions(
    task: Task, generator: np.random.Generator, rows: int, legal: NDArray[np.bool_] | None = None
) -> Array:
    """Return a random action per row, `(rows, *task.action.shape)`: every legal choice is as likely as any other.

    Args:
        task: Whose actions.
        generator: Draws them.
        rows: How many.
        legal: Which are legal, `(rows, num_actions)`; all if None. A component without any gets its first choice.
    """
    if task.bounds:
        centre, reach = scale_of(task)
        numbers: Array = centre + reach * generator.uniform(-1, 1, (rows, len(reach))).astype(np.float32)
        return numbers
    keys = generator.random((rows, task.num_actions))
    if legal is not None:
        keys[~legal] = -1
    if not task.choices:
        chosen: Array = keys.argmax(axis=1)
        return chosen
    parts: list[Array] = np.split(keys, np.cumsum(task.choices)[:-1], axis=1)
    return np.stack([part.argmax(axis=1) for part in parts], axis=1)
