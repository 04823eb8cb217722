"""The arrays of the buffers as the kernels see them.

A kernel takes a table of addresses and rebuilds the arrays from it: handing thirty arrays over costs 5 us a call, the
table a tenth of it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import carray  # type: ignore[attr-defined]
from numpy.typing import NDArray

from ..fields import Array, Buffers
from ..native import STANDARD, Common, addresses, common, pointer
from ..task import Task
from .compiled import compiled
from .layout import ACTIONS, COLUMNS, LONGEST_FALL, ROWS, SCRATCH, SPEEDS, WORDS

MASK_WORDS = ACTIONS // 64
TERMS = 3


class BottleViews(NamedTuple):
    """What kernels read and write, `(slots, environments, ...)`; what has no slot has no first axis.

    Bits, cells and states are words of 64 bits; `codes` is the bottle's cells as bytes, `ints` and `reals` are the
    states as signed integers and as floats. `scratch` and `path` are working memory.
    """

    level: int
    speed: int
    by_frame: bool
    common: Common
    mask: Array
    observation: Array
    final: Array
    viruses: Array
    cleared: Array
    pills: Array
    score: Array
    speed_ups: Array
    levels: Array
    bottle: Array
    codes: Array
    preview: Array
    last_bottle: Array
    last_codes: Array
    last_preview: Array
    last_drawn: Array
    words: Array
    ints: Array
    reals: Array
    scratch: Array
    path: Array


INFO = ("viruses", "cleared", "pills", "score", "speed_ups", "level")
NAMES = (*STANDARD, *INFO, "bottle", "preview", "final_bottle", "final_preview", "final_drawn")
"""The fields whose addresses are in a table, after slots, environments, words of an observation, level and speed."""
NUMBERS = 5


def table(task: Task, buffers: Buffers, scratch: Array, path: Array) -> NDArray[np.int64]:
    """The table of a task's `buffers`, which must outlive it; a task by frames has no mask.

    Raises:
        ValueError: A field is not what the task describes, or not one contiguous block.
    """
    slots, num_envs = buffers["action"].shape
    numbers = (
        slots,
        num_envs,
        buffers["observation"].shape[2] // 8,
        task.values["level"],
        SPEEDS.index(task.values["speed"]),
    )
    return np.array([*numbers, *addresses(task, buffers, NAMES), scratch.ctypes.data, path.ctypes.data], np.int64)


@compiled
def views(at: NDArray[np.int64]) -> BottleViews:
    """Rebuild the arrays from a table."""
    slots, envs, planes, level, speed = at[0], at[1], at[2], at[3], at[4]
    rows = (slots, envs)
    return BottleViews(
        level=level,
        speed=speed,
        by_frame=at[NUMBERS + 1] == 0,
        common=common(at, NUMBERS, 1, TERMS),
        mask=carray(pointer(at[NUMBERS + 1], np.uint64), (slots, envs, MASK_WORDS)),
        observation=carray(pointer(at[NUMBERS + 2], np.uint64), (slots, envs, planes)),
        final=carray(pointer(at[NUMBERS + 3], np.uint64), (slots, envs, planes)),
        viruses=carray(pointer(at[NUMBERS + 16], np.int32), rows),
        cleared=carray(pointer(at[NUMBERS + 17], np.int32), rows),
        pills=carray(pointer(at[NUMBERS + 18], np.int32), rows),
        score=carray(pointer(at[NUMBERS + 19], np.int32), rows),
        speed_ups=carray(pointer(at[NUMBERS + 20], np.int32), rows),
        levels=carray(pointer(at[NUMBERS + 21], np.int32), rows),
        bottle=carray(pointer(at[NUMBERS + 22], np.uint64), (envs, ROWS)),
        codes=carray(pointer(at[NUMBERS + 22], np.uint8), (envs, ROWS * COLUMNS)),
        preview=carray(pointer(at[NUMBERS + 23], np.uint8), (envs, 2)),
        last_bottle=carray(pointer(at[NUMBERS + 24], np.uint64), (envs, ROWS)),
        last_codes=carray(pointer(at[NUMBERS + 24], np.uint8), (envs, ROWS * COLUMNS)),
        last_preview=carray(pointer(at[NUMBERS + 25], np.uint8), (envs, 2)),
        last_drawn=carray(pointer(at[NUMBERS + 26], np.int64), (envs,)),
        words=carray(pointer(at[NUMBERS + 15], np.uint64), (envs, WORDS)),
        ints=carray(pointer(at[NUMBERS + 15], np.int64), (envs, WORDS)),
        reals=carray(pointer(at[NUMBERS + 15], np.float32), (envs, 2 * WORDS)),
        scratch=carray(pointer(at[NUMBERS + 27], np.uint64), (SCRATCH,)),
        path=carray(pointer(at[NUMBERS + 28], np.uint8), (LONGEST_FALL,)),
    )
