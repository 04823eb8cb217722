"""From a placement to the buttons that play it."""

from __future__ import annotations

import numpy as np

from ..native import compiled
from . import layout as at
from .bottle import free_lanes, occupied
from .exact import (
    FLAT_LANES,
    NOT_FIRST,
    NOT_LAST,
    SPAWN,
    clockwise,
    counterclockwise,
    first_time,
    search,
    spread,
    trace,
)
from .layout import Bytes, Ints, Words, signed
from .rules import hang


@compiled
def place_of(action: int) -> tuple[int, int, int]:
    """Return row of the lower cell, column of the left one, and turn of the pill that an action locks."""
    orientation, row, column = action >> 7, action >> 3 & 15, action & 7
    if orientation == 0:
        return row, column, 0
    if orientation == 1:
        return row + 1, column, 3
    if orientation == 2:
        return row, column - 1, 2
    return row, column, 1


@compiled
def before(place: int, earlier: int, free: int) -> tuple[int, int]:
    """Return a position among `earlier` from which one button leads to `place`, and that button."""
    right, left = (place << 1) & NOT_LAST, (place >> 1) & NOT_FIRST
    if earlier & right:
        return right, at.HOLD_LEFT
    if earlier & left:
        return left, at.HOLD_RIGHT
    if earlier & counterclockwise(place):
        return counterclockwise(place), at.PRESS_A
    if earlier & clockwise(place):
        return clockwise(place), at.PRESS_B
    kicked = right & ~free & FLAT_LANES
    if earlier & counterclockwise(kicked):
        return counterclockwise(kicked), at.PRESS_A
    return clockwise(kicked), at.PRESS_B


@compiled
def climb(board: Words, row: int, place: int, scratch: Words) -> int:
    """Trace a position that `flood` reached back to where the pill appears, rising whenever that is possible.

    Writes the moves, last first, as row * 32 + button to `scratch[MOVES:]` and returns their number.
    """
    low, high = occupied(board)
    moves = 0
    while True:
        free = free_lanes(low, high, row)
        entered = SPAWN if row == 0 else signed(board[at.REACHED + row - 1]) & free
        level = 0
        reached = entered
        while not reached & place:
            scratch[at.ROUNDS + level] = np.uint64(reached)
            reached = spread(reached, free)
            level += 1
        while level > 0:
            level -= 1
            place, button = before(place, signed(scratch[at.ROUNDS + level]), free)
            scratch[at.MOVES + moves] = np.uint64(row << 5 | button)
            moves += 1
        if row == 0:
            return moves
        row -= 1


@compiled
def tap(game: Ints, row: int, moves: int, scratch: Words, path: Bytes, frames: int, here: int, counter: int) -> int:
    """Write the buttons of every frame until the pill locks in `row`; return the number of frames.

    Moves are taps as quick as the controller allows; between them, and after the last, Down is held.

    Args:
        game: The state as signed integers.
        row: The row in which the pill locks.
        moves: Number of moves in `scratch`.
        scratch: The moves, last first.
        path: The output.
        frames: Number of frames that are already written.
        here: The row of the pill after these.
        counter: The gravity counter after these.
    """
    longest, clock, previous = hang(game), game[at.CLOCK] + frames, 0
    while True:
        button = at.HOLD_DOWN
        if moves > 0 and signed(scratch[at.MOVES + moves - 1]) >> 5 == here:
            button = signed(scratch[at.MOVES + moves - 1]) & 31
            if button == previous:
                button = 0
            else:
                moves -= 1
        path[frames] = button
        frames += 1
        counter += 1
        if counter > longest or (clock & 1 == 1 and button == at.HOLD_DOWN):
            if here == row:
                return frames
            here += 1
            counter = 0
        clock += 1
        previous = button


@compiled
def plan(board: Words, game: Ints, action: int, scratch: Words, path: Bytes) -> int:
    """Write the buttons of every frame that play a legal placement, the frame on which the pill locks included.

    Args:
        board: The state's words.
        game: The same memory as signed integers.
        action: A placement that the mask allows.
        scratch: Working memory.
        path: Receives the buttons, `(LONGEST_FALL,)`.

    Returns:
        Their number.
    """
    row, column, turn = place_of(action)
    position = 1 << (turn * at.COLUMNS + column)
    moves, written, here, counter = 0, 0, 0, 0
    if signed(board[at.REACHED + row]) & position:
        moves = climb(board, row, position, scratch)
    else:
        frames = hang(game) + 1
        search(board, frames, scratch)
        here, phases = first_time(board, row, position, frames, scratch)
        written = trace(board, here, phases, position, frames, scratch, path)
        counter = phases - 1 if here > 0 else phases
    return tap(game, row, moves, scratch, path, written, here, counter)
