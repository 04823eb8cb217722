"""The memory layout of one environment's state, and the sizes of the picture.

The state is one row of 64-bit words. Rules use it as `game`, signed integers.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..packed import BRIGHTEST, PER_BYTE

Words: TypeAlias = NDArray[np.uint64]
Ints: TypeAlias = NDArray[np.int64]
Bytes: TypeAlias = NDArray[np.uint8]
Floats: TypeAlias = NDArray[np.float32]

NAME = "frames"
HEIGHT, WIDTH = 72, 80
ROW_BYTES = WIDTH // PER_BYTE
FRAME_BYTES = HEIGHT * ROW_BYTES
FARTHEST = BRIGHTEST * HEIGHT * WIDTH
"""The largest distance of two pictures."""

CELL = PER_BYTE
"""Pixels of a step. The steps of a shape are whole bytes."""
SIDE = 40
"""Rows and columns of a shape in pixels. Its brightest part has 8, of which at least 4 are always in the picture."""
SIDE_BYTES = SIDE // PER_BYTE
MARGIN = 4
"""Steps by which a shape can leave the picture."""
ROWS = (HEIGHT - SIDE) // CELL + 2 * MARGIN + 1
COLUMNS = (WIDTH - SIDE) // CELL + 2 * MARGIN + 1
"""Places of a shape. Place (0, 0) is `MARGIN` steps above and to the left of the picture's corner."""
NEAREST = 3
"""The least steps from where a shape begins to its goal."""
MOST_SHAPES = 3
GOALS = ((4, 4), (4, 14), (12, 9))
"""The places of the shapes in the goal pictures."""

DRIFTER = 5
"""Rows and columns of a drifting square, in pixels."""
MOST_DRIFTERS = 4
SPEEDS = (-2, -1, 1, 2)
MOST_STEPS = 1000

ACTION_NAMES = ("up", "right", "down", "left", "wait")

# Words of a state. RETURN holds a float32 in its first half.
RUN_SEED, EPISODES, RANDOM, STEPS, STAGE, ROW, COLUMN, DISTANCE, FIRST, RETURN, DRIFTERS = range(11)

# Words of a drifter.
DRIFTER_ROW, DRIFTER_COLUMN, DOWN, RIGHT, DRIFTER_WORDS = range(5)
WORDS = DRIFTERS + MOST_DRIFTERS * DRIFTER_WORDS

RUNNING, MATCHED, OUT_OF_TIME = 0, 1, 2
"""Values of the field `outcome`."""


class FrameNumbers(NamedTuple):
    """The numbers of a task that kernels use.

    Attributes:
        shapes: Shapes of an episode, which is the number of goal pictures.
        drifters: Drifting squares.
        steps: Steps of an episode.
        reach: The largest distance at which a goal picture is reached.
    """

    shapes: int
    drifters: int
    steps: int
    reach: int
