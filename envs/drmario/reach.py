"""Where the pill in hand can lock, found row by row on 32-bit words.

A word has, for one row, a byte of columns for each of the four turns (`bottle.lanes`). Waiting is always possible, and
a fall sets the gravity counter to 0, so soft drops reach nothing that natural gravity does not reach. `flood` makes one
elementary move (a column left or right, a turn with its kick) per round. A move takes a frame to press and a frame to
release, so a row of F frames has time for F // 2 rounds. Positions that these reach are reachable, and positions that
no number of rounds reaches are not. If there are others, `exact` decides frame by frame.
"""

from __future__ import annotations

import numpy as np

from ..native import compiled
from .bottle import free_lanes, occupied
from .exact import ALL_LANES, SPAWN, search, spread
from .layout import LOCKS, MASK, NO_BITS, REACHED, ROWS, Ints, Words, signed
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
