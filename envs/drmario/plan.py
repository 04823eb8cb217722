"""Where the pill in hand can lock, found row by row on 32-bit words; and the buttons for it.

A word has, for one row, a byte of columns for each of the four turns (`bottle.lanes`). Waiting is always possible, and
a fall sets the gravity counter to 0, so soft drops reach nothing that natural gravity does not reach. `flood` makes one
elementary move (a column left or right, a turn with its kick) per round. A move takes a frame to press and a frame to
release, so a row of F frames has time for F // 2 rounds. Positions that these reach are reachable, and positions that
no number of rounds reaches are not. If there are others, `exact` decides frame by frame.
"""

from __future__ import annotations

import numpy as np

from ..native import compiled
from . import layout as at
from .bottle import free_lanes, occupied
from .exact import (
    ALL_LANES,
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
from .layout import LOCKS, MASK, NO_BITS, REACHED, ROWS, Bytes, Ints, Words, signed
from .rules import hang

FOREVER = 1 << 30


@compiled
def flood(board: Words, rounds: int, reached: Words, at: int) -> bool:
    """Write the positions reached in every row to `reached[at:]`, spending at most `rounds` moves in each.

    Returns whether more rounds would reach nothing else.
    """
    low, high = occupied(board)
    here = SPAWN
    free = free_lanes(low, high, 0)
    complete = True
    for row in range(ROWS):
        left = rounds
        wider = spread(here, free)
        while wider != here and left > 0:
            here = wider
            wider = spread(here, free)
            left -= 1
        complete = complete and wider == here
        reached[at + row] = np.uint64(here)
        free = free_lanes(low, high, row + 1)
        here &= free
    return complete


@compiled
def write_locks(board: Words, row: int, locks: int) -> None:
    """Add a row's lock positions to the mask of actions, orientation * 128 + row * 8 + column of the first half.

    Orientations: the second half is right of the first (0), below (1), left (2), above (3). A standing pill at the
        rim whose first half would be lost has no such cell and is left out.
    """
    half, place = row >> 3, np.uint64(8 * (row & 7))
    board[MASK + half] |= np.uint64(locks & 0xFF) << place
    board[MASK + 4 + half] |= np.uint64((locks >> 16 & 0xFF) << 1) << place
    board[MASK + 6 + half] |= np.uint64(locks >> 8 & 0xFF) << place
    if row > 0:
        board[MASK + 2 + ((row - 1) >> 3)] |= np.uint64(locks >> 24 & 0xFF) << np.uint64(8 * ((row - 1) & 7))


@compiled
def survey(board: Words, game: Ints, scratch: Words) -> None:
    """Write the mask of all placements that some sequence of buttons reaches, and the rows that tapping reaches."""
    frames = hang(game) + 1
    complete = flood(board, frames // 2, board, REACHED)
    low, high = occupied(board)
    if not complete:
        flood(board, FOREVER, scratch, LOCKS)
        missing = NO_BITS
        for row in range(ROWS):
            blocked = np.uint64(ALL_LANES & ~free_lanes(low, high, row + 1))
            scratch[LOCKS + row] &= blocked
            missing |= scratch[LOCKS + row] & ~board[REACHED + row]
        complete = missing == NO_BITS
        if not complete:
            search(board, frames, scratch)
    for word in range(MASK, MASK + 8):
        board[word] = NO_BITS
    for row in range(ROWS):
        if complete:
            locks = signed(board[REACHED + row]) & ~free_lanes(low, high, row + 1)
        else:
            locks = signed(scratch[LOCKS + row])
        if locks:
            write_locks(board, row, locks)


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
