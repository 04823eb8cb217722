"""The arrays of the buffers as the kernels see them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..fields import Array, Buffers
from ..kernel_tables import CommonViews, FieldArrays, common_views, table_of
from ..packed import byte_distances
from ..task import Task
from .layout import FARTHEST, FRAME_BYTES, GOALS, NAME, Bytes, Floats, FrameNumbers, Ints
from .pictures import brighter_bytes, goal_pictures, shapes


class FrameBoards(NamedTuple):
    """Boards `(environments, ...)`: the picture, the goal picture, and bars of the distance and the stage."""

    frame: Array
    goal: Array
    progress: Array


class FrameViews(NamedTuple):
    """What kernels read and write, `(slots, environments, ...)`; what has no slot has no first axis.

    Pictures are flat arrays of bytes. `ints`, `words` and `reals` are the states as signed and unsigned integers and as
    floats. `pictures` are the backgrounds and goals of the stages, `shapes` the packed shapes, `goals` their places.
    `distances` and `brighter` are tables for pairs of bytes.
    """

    numbers: FrameNumbers
    common: CommonViews
    observation: Array
    final: Array
    distance: Array
    stage: Array
    boards: FrameBoards
    last: FrameBoards
    last_drawn: Array
    ints: Array
    words: Array
    reals: Array
    pictures: Array
    shapes: Array
    goals: Array
    distances: Array
    brighter: Array


class FrameScene(NamedTuple):
    """One environment in a kernel: the numbers, the state as integers and as floats, and the pictures to copy from."""

    n: FrameNumbers
    game: Ints
    reals: Floats
    pictures: Bytes
    shapes: Bytes
    goals: Ints
    distances: Bytes
    brighter: Bytes


def views_of(task: Task, buffers: Buffers) -> FrameViews:
    """Return the views of a task's `buffers`.

    Raises:
        ValueError: A field is not what the kernels expect, or not one contiguous block.
    """
    fields, values = FieldArrays(task, buffers), task.values
    return fields.views(
        FrameViews,
        numbers=FrameNumbers(values["shapes"], values["drifters"], values["steps"], int(values["tau"] * FARTHEST)),
        common=common_views(fields),
        observation=fields.flat("observation"),
        final=fields.last_observations(np.uint8),
        boards=FrameBoards(fields.flat("frame"), fields.flat("goal"), fields["progress"]),
        last=FrameBoards(fields.flat("final_frame"), fields.flat("final_goal"), fields["final_progress"]),
        last_drawn=fields["final_drawn"],
        ints=fields["state"],
        words=fields.flat("state", np.uint64),
        reals=fields.flat("state", np.float32),
        pictures=goal_pictures().reshape(-1, FRAME_BYTES),
        shapes=shapes(),
        goals=np.array(GOALS, np.int64),
        distances=byte_distances(),
        brighter=brighter_bytes(),
    )


TABLE = table_of(views_of, NAME)
views = TABLE.unpack
