"""The arrays of the buffers as the kernels see them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..fields import Array, Buffers
from ..kernel_tables import CommonViews, FieldArrays, common_views, table_of
from ..packed import BRIGHTEST, byte_distances, pack_pixels, pixels_of_bytes
from ..task import Task
from .layout import (
    CELL,
    FARTHEST,
    FRAME_BYTES,
    GOALS,
    HEIGHT,
    MARGIN,
    MOST_SHAPES,
    NAME,
    ROW_BYTES,
    SIDE,
    WIDTH,
    Bytes,
    Floats,
    FrameNumbers,
    Ints,
)

RADII = (20, 12, 4)
"""Radius of shade 1, 2 and 3 of a shape, in pixels."""


def shape_of(index: int) -> Bytes:
    """Return shape `index` as shades `(SIDE, SIDE)`: a square, a diamond or a disc, brighter towards its center."""
    rows, columns = np.abs(np.mgrid[:SIDE, :SIDE] - (SIDE - 1) / 2)
    far = (np.maximum(rows, columns), rows + columns, np.hypot(rows, columns))[index]
    shades: Bytes = np.sum([far < radius for radius in RADII], axis=0).astype(np.uint8)
    return shades


def shapes() -> Bytes:
    """Return the packed shapes, `(MOST_SHAPES, SIDE, SIDE_BYTES)`."""
    return pack_pixels(np.stack([shape_of(index) for index in range(MOST_SHAPES)]))


def goal_pictures() -> Bytes:
    """Return packed pictures `(1 + MOST_SHAPES, HEIGHT, ROW_BYTES)`; picture k has the first k shapes at their goals.

    Picture k is the background of stage k, and picture k + 1 its goal.
    """
    picture = np.zeros((HEIGHT, WIDTH), np.uint8)
    found = [picture]
    for index, (row, column) in enumerate(GOALS):
        top, left = ((place - MARGIN) * CELL for place in (row, column))
        picture = picture.copy()
        part = picture[top : top + SIDE, left : left + SIDE]
        np.maximum(part, shape_of(index), out=part)
        found.append(picture)
    packed = pack_pixels(np.stack(found))
    assert packed.shape[-1] == ROW_BYTES
    return packed


def brighter_bytes() -> Bytes:
    """Return `(256, 256)`: the byte with the brighter of each pair of pixels of two bytes."""
    pixels = pixels_of_bytes()
    brighter: NDArray[np.uint8] = np.maximum(pixels[:, None], pixels)
    assert brighter.max() == BRIGHTEST
    return pack_pixels(brighter)[..., 0]


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
