"""The bottle as bit boards: what is free, what matches, what falls."""

from __future__ import annotations

import numpy as np

from ..native import compiled
from .layout import BOTTOM, COLORS, LEFT, NO_BITS, PLANES, RIGHT, ROWS, TOP, VIRUS, Words, signed

ONE = np.uint64(1)
TWO = np.uint64(2)
THREE = np.uint64(3)
ROW_BITS = np.uint64(8)
CARRY = np.uint64(56)
BYTE = np.uint64(0xFF)
FIRST_FIVE = np.uint64(0x1F1F_1F1F_1F1F_1F1F)

Pair = tuple[np.uint64, np.uint64]


@compiled
def occupied(board: Words) -> Pair:
    return board[0] | board[2] | board[4], board[1] | board[3] | board[5]


@compiled
def row_of(low: np.uint64, high: np.uint64, row: int) -> int:
    """Return the eight bits of a row as an integer."""
    word = low if row < 8 else high
    return signed((word >> np.uint64(8 * (row & 7))) & BYTE)


@compiled
def put(board: Words, plane: int, row: int, column: int) -> None:
    """Set one cell's bit in a plane."""
    board[2 * plane + (row >> 3)] |= ONE << np.uint64(8 * (row & 7) + column)


@compiled
def lanes(above: int, here: int, below_top: int) -> int:
    """Return the free positions of a pill in a row: 32 bits, a byte of columns for each of the four turns.

    In turns 0 and 2 the pill is in columns c and c + 1; in turns 1 and 3 it is vertical, its lower half in this row.

    Args:
        above: Occupied cells of the row above (none above the top).
        here: Occupied cells of this row.
        below_top: 0xFF in a row of the bottle, 0 below its floor.
    """
    empty = ~here & below_top
    flat = empty & (empty >> 1) & 0x7F
    tall = empty & ~above & 0xFF
    return flat | (tall << 8) | (flat << 16) | (tall << 24)


@compiled
def free_lanes(low: np.uint64, high: np.uint64, row: int) -> int:
    """Return `lanes` of a row, given the occupied cells; nothing is free in row 16."""
    if row >= ROWS:
        return 0
    above = row_of(low, high, row - 1) if row > 0 else 0
    return lanes(above, row_of(low, high, row), 0xFF)


@compiled
def count(word: np.uint64) -> int:
    """Return the number of set bits."""
    total = 0
    while word != NO_BITS:
        word &= word - ONE
        total += 1
    return total


@compiled
def matched(board: Words) -> Pair:
    """Return the cells of all lines of four or more of a color, as two words."""
    hit_low, hit_high = NO_BITS, NO_BITS
    for color in range(COLORS):
        low, high = board[2 * color], board[2 * color + 1]
        flat_low = low & (low >> ONE) & (low >> TWO) & (low >> THREE) & FIRST_FIVE
        flat_high = high & (high >> ONE) & (high >> TWO) & (high >> THREE) & FIRST_FIVE
        two_low = low & ((low >> ROW_BITS) | (high << CARRY))
        two_high = high & (high >> ROW_BITS)
        tall_low = two_low & ((two_low >> np.uint64(16)) | (two_high << np.uint64(48)))
        tall_high = two_high & (two_high >> np.uint64(16))
        if (flat_low | flat_high | tall_low | tall_high) != NO_BITS:
            hit_low |= flat_low | (flat_low << ONE) | (flat_low << TWO) | (flat_low << THREE)
            hit_high |= flat_high | (flat_high << ONE) | (flat_high << TWO) | (flat_high << THREE)
            pair_low = tall_low | (tall_low << ROW_BITS)
            pair_high = tall_high | (tall_high << ROW_BITS) | (tall_low >> CARRY)
            hit_low |= pair_low | (pair_low << np.uint64(16))
            hit_high |= pair_high | (pair_high << np.uint64(16)) | (pair_low >> np.uint64(48))
    return hit_low, hit_high


@compiled
def remove(board: Words, hit_low: np.uint64, hit_high: np.uint64) -> int:
    """Clear the hit cells; halves that lose their partner become singles. Return the number of viruses hit."""
    viruses = count(board[2 * VIRUS] & hit_low) + count(board[2 * VIRUS + 1] & hit_high)
    left_low, left_high = board[2 * LEFT] & hit_low, board[2 * LEFT + 1] & hit_high
    right_low, right_high = board[2 * RIGHT] & hit_low, board[2 * RIGHT + 1] & hit_high
    top_low, top_high = board[2 * TOP] & hit_low, board[2 * TOP + 1] & hit_high
    bottom_low, bottom_high = board[2 * BOTTOM] & hit_low, board[2 * BOTTOM + 1] & hit_high
    for plane in range(PLANES):
        board[2 * plane] &= ~hit_low
        board[2 * plane + 1] &= ~hit_high
    board[2 * RIGHT] &= ~(left_low << ONE)
    board[2 * RIGHT + 1] &= ~(left_high << ONE)
    board[2 * LEFT] &= ~(right_low >> ONE)
    board[2 * LEFT + 1] &= ~(right_high >> ONE)
    board[2 * BOTTOM] &= ~(top_low << ROW_BITS)
    board[2 * BOTTOM + 1] &= ~((top_high << ROW_BITS) | (top_low >> CARRY))
    board[2 * TOP] &= ~((bottom_low >> ROW_BITS) | (bottom_high << CARRY))
    board[2 * TOP + 1] &= ~(bottom_high >> ROW_BITS)
    return viruses


@compiled
def falling_cells(board: Words) -> Pair:
    """Return the cells that fall by one row in this pass, as two words.

    Rows are processed from the bottom, so a cell above a falling cell falls with it. Viruses do not fall. A single, or
    a half of a vertical pill, falls if the cell below is free; a horizontal pill if both cells below are.
    """
    low, high = occupied(board)
    fall_low, fall_high = NO_BITS, NO_BITS
    free = ~row_of(low, high, ROWS - 1) & 0xFF
    for step in range(ROWS - 1):
        row = ROWS - 2 - step
        here = row_of(low, high, row)
        left = row_of(board[2 * LEFT], board[2 * LEFT + 1], row)
        lone = here & ~(row_of(board[2 * VIRUS], board[2 * VIRUS + 1], row) | left | (left << 1))
        pair = left & free & (free >> 1)
        fall = (lone & free) | pair | (pair << 1)
        free = (~here & 0xFF) | fall
        shifted = np.uint64(fall) << np.uint64(8 * (row & 7))
        if row < 8:
            fall_low |= shifted
        else:
            fall_high |= shifted
    return fall_low, fall_high


@compiled
def drop(board: Words) -> bool:
    """Move everything without support down by one row; return whether anything moved."""
    fall_low, fall_high = falling_cells(board)
    if (fall_low | fall_high) == NO_BITS:
        return False
    for plane in range(PLANES):
        moved_low, moved_high = board[2 * plane] & fall_low, board[2 * plane + 1] & fall_high
        board[2 * plane] = (board[2 * plane] & ~fall_low) | (moved_low << ROW_BITS)
        board[2 * plane + 1] = (board[2 * plane + 1] & ~fall_high) | (moved_high << ROW_BITS) | (moved_low >> CARRY)
    return True
