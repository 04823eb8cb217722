"""The arrays of the buffers as the kernels see them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..fields import Array, Buffers
from ..kernel_tables import CommonViews, FieldArrays, common_views, table_of
from ..task import Task
from .layout import LONGEST_FALL, SCRATCH, SPEEDS


class BottleViews(NamedTuple):
    """What kernels read and write, `(slots, environments, ...)`; what has no slot has no first axis.

    Bits, cells and states are words of 64 bits; `codes` is the bottle's cells as bytes, `ints` and `reals` are the
    states as signed integers and as floats. `scratch` and `path` are working memory. A task by frames has no mask.
    """

    level: int
    speed: int
    by_frame: int
    common: CommonViews
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


def views_of(task: Task, buffers: Buffers) -> BottleViews:
    """Return the views of a task's `buffers`, with working memory of their own.

    Raises:
        ValueError: A field is not what the kernels expect, or not one contiguous block.
    """
    fields = FieldArrays(task, buffers)
    return fields.views(
        BottleViews,
        level=task.values["level"],
        speed=SPEEDS.index(task.values["speed"]),
        by_frame=not task.masked,
        common=common_views(fields),
        mask=fields.optional("action_mask", np.uint64),
        observation=fields.flat("observation", np.uint64),
        final=fields.last_observations(np.uint64),
        levels=fields["level"],
        bottle=fields.flat("bottle", np.uint64),
        codes=fields.flat("bottle"),
        preview=fields.flat("preview"),
        last_bottle=fields.flat("final_bottle", np.uint64),
        last_codes=fields.flat("final_bottle"),
        last_preview=fields.flat("final_preview"),
        last_drawn=fields["final_drawn"],
        words=fields.flat("state", np.uint64),
        ints=fields.flat("state", np.int64),
        reals=fields.flat("state", np.float32),
        scratch=np.zeros(SCRATCH, np.uint64),
        path=np.zeros(LONGEST_FALL, np.uint8),
    )


TABLE = table_of(views_of, "drmario", working=("scratch", "path"))
views = TABLE.unpack
