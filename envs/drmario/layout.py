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

# Planes of the board, two words each. The colors come first.
VIRUS, LEFT, RIGHT, TOP, BOTTOM, PLANES = range(COLORS, COLORS + 6)

# Words after the planes.
MASK = 2 * PLANES
RUN_SEED = MASK + ACTIONS // 64
EPISODES = RUN_SEED + 1
RESERVE = EPISODES + 1
PILLS_KEPT = 128
REACHED = RESERVE + PILLS_KEPT // 16

# Words that are read as signed integers; RETURN holds a float32 in its first half.
STAGE = REACHED + ROWS
ROW, COLUMN, TURN, FIRST, SECOND, NEXT_FIRST, NEXT_SECOND, GRAVITY, CHARGE, HELD = range(STAGE + 1, STAGE + 11)
WAIT, SPEED, SPEED_UPS, PILLS, VIRUSES, VIRUSES_AT_START, CHAIN, SCORE = range(STAGE + 11, STAGE + 19)
CLOCK, LEVEL, RANDOM, OUTCOME, STEPS, RETURN = range(STAGE + 19, STAGE + 25)
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
FALLING, DROPPING, MATCHING, THROWING, OVER = range(5)

# Values of OUTCOME, 1 + the index into the task's outcomes.
RUNNING, CLEARED, TOPPED_OUT, OUT_OF_TIME = range(4)

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
