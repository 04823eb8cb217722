"""The memory layout of one environment's state.

The state is one row of `WORDS` 64-bit words. The rules use two views of it: `board`, unsigned words (bit planes of
128 bits, cell `row * 8 + column`, row 0 on top, lowest bit first), and `game`, the same memory as signed integers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

Words: TypeAlias = NDArray[np.uint64]
Ints: TypeAlias = NDArray[np.int64]
Bytes: TypeAlias = NDArray[np.uint8]

signed = cast("Callable[[np.generic | int], int]", np.int64)
"""Converts a number to a signed 64-bit integer, the integer type of kernels."""

ROWS = 16
COLUMNS = 8
COLORS = 3
ACTIONS = 512
NO_BITS = np.uint64(0)
ALL_BITS = np.uint64(0xFFFF_FFFF_FFFF_FFFF)

# Planes of the board, two words each. The colours come first.
VIRUS = 3
LEFT = 4
RIGHT = 5
TOP = 6
BOTTOM = 7
PLANES = 8

# Words after the planes.
MASK = 2 * PLANES
RUN_SEED = MASK + ACTIONS // 64
EPISODES = RUN_SEED + 1
RESERVE = EPISODES + 1
PILLS_KEPT = 128
REACHED = RESERVE + PILLS_KEPT // 16

# Words that are read as signed integers; RETURN holds a float32 in its first half.
STAGE = REACHED + ROWS
ROW = STAGE + 1
COLUMN = STAGE + 2
TURN = STAGE + 3
FIRST = STAGE + 4
SECOND = STAGE + 5
NEXT_FIRST = STAGE + 6
NEXT_SECOND = STAGE + 7
GRAVITY = STAGE + 8
CHARGE = STAGE + 9
HELD = STAGE + 10
WAIT = STAGE + 11
SPEED = STAGE + 12
SPEED_UPS = STAGE + 13
PILLS = STAGE + 14
VIRUSES = STAGE + 15
VIRUSES_AT_START = STAGE + 16
CHAIN = STAGE + 17
SCORE = STAGE + 18
CLOCK = STAGE + 19
LEVEL = STAGE + 20
RANDOM = STAGE + 21
OUTCOME = STAGE + 22
STEPS = STAGE + 23
RETURN = STAGE + 24
WORDS = 80

# Words of the scratch memory of a search; its content is not used after a step.
LOCKS = 0
ROUNDS = LOCKS + ROWS
MOVES = ROUNDS + 32
SETS = MOVES + 32 * ROWS
HOLDS = 18
SET_WORDS = 3 * HOLDS
STARTS = SETS + 2 * SET_WORDS
SCRATCH = STARTS + ROWS * SET_WORDS
LONGEST_FALL = 1024

# Values of STAGE.
FALLING = 0
DROPPING = 1
MATCHING = 2
THROWING = 3
OVER = 4

# Values of OUTCOME, 1 + the index into the task's outcomes.
RUNNING = 0
CLEARED = 1
TOPPED_OUT = 2
OUT_OF_TIME = 3

# Buttons.
HOLD_LEFT = 1
HOLD_RIGHT = 2
HOLD_DOWN = 4
PRESS_A = 8
PRESS_B = 16
ARROWS = HOLD_LEFT | HOLD_RIGHT | HOLD_DOWN

BUTTONS = tuple(
    arrows | press
    for arrows in (0, HOLD_LEFT, HOLD_RIGHT, HOLD_DOWN, HOLD_DOWN | HOLD_LEFT, HOLD_DOWN | HOLD_RIGHT)
    for press in (0, PRESS_A, PRESS_B)
)
"""The buttons that each of the 18 frame actions holds."""

SPEEDS = ("low", "med", "hi")
LEVELS = 20
