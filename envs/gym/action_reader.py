"""Converts the actions of the buffer to those of Gymnasium's spaces."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, Tuple

from ..fields import Array
from ..spaces.actions import action_parts

ActionReader: TypeAlias = Callable[[Array], Sequence[Any]]


def action_reader(space: gymnasium.Space[Any]) -> ActionReader:
    """Return a function that converts the buffer's actions, one row per environment, to the environments' actions."""
    if isinstance(space, Discrete):
        start = int(space.start)
        return (lambda rows: (rows + start).tolist()) if start else lambda rows: rows.tolist()
    if isinstance(space, Dict | Tuple):
        return _composite_reader(space)
    shape, dtype = (-1, *(space.shape or ())), space.dtype
    if isinstance(space, Box):
        low, high, whole = space.low, space.high, np.dtype(dtype).kind in "iu"

        def numbers(rows: Array) -> Sequence[Any]:
            # Converted to the space's dtype, a float32 may be slightly outside of the bounds.
            own = (np.rint(rows) if whole else rows).reshape(shape).astype(dtype).clip(low, high)
            return [own[index, ...] for index in range(len(own))]

        return numbers
    first: Any = getattr(space, "start", 0)
    return lambda rows: list((rows.reshape(shape) + first).astype(dtype))


def _composite_reader(space: Dict | Tuple[Any]) -> ActionReader:
    """Return a function that converts rows to dicts or tuples, whose parts are consecutive columns."""
    parts: Mapping[Any, Any] = space.spaces if isinstance(space, Dict) else dict(enumerate(space.spaces))
    readers, columns, end = [], [], 0
    for part in parts.values():
        width = sum(leaf.width for leaf in action_parts("", part))
        readers.append(action_reader(part))
        columns.append(end if isinstance(part, Discrete) else slice(end, end + width))
        end += width

    def read(rows: Array) -> Sequence[Any]:
        values = zip(*(reader(rows[:, at]) for reader, at in zip(readers, columns, strict=True)), strict=True)
        return [dict(zip(parts, row, strict=True)) for row in values] if isinstance(space, Dict) else list(values)

    return read
