"""Writes the observation's bit planes and the cells of the boards."""

from __future__ import annotations

import numpy as np

from ..native import compiled
from . import layout as at
from .bottle import row_of
from .layout import Bytes, Ints, Words

EVERY_BYTE = np.uint64(0x0101_0101_0101_0101)
DIAGONAL = np.uint64(0x8040_2010_0804_0201)
ROUND_UP = np.uint64(0x7F7F_7F7F_7F7F_7F7F)
TOP_BIT = np.uint64(7)
CODE_LEFT, CODE_RIGHT, CODE_TOP, CODE_BOTTOM = 4, 7, 10, 13
WEIGHTS = (1, 2, 3, 15, 3, 6, 9, 12)
"""What each plane adds to a cell's code: 1-3 single, 4-6 left, 7-9 right, 10-12 top, 13-15 bottom, 16-18 virus."""


@compiled
def observe(board: Words, game: Ints, planes: Words) -> None:
    """Write the 20 planes, two words each: the board's eight, then hand and preview, three for each of their halves."""
    for word in range(2 * at.PLANES):
        planes[word] = board[word]
    for half in range(4):
        color = game[at.FIRST + half]
        for plane in range(at.COLORS):
            start = 2 * (at.PLANES + at.COLORS * half + plane)
            planes[start] = planes[start + 1] = at.ALL_BITS if plane == color else at.NO_BITS


@compiled
def observe_pill(game: Ints, planes: Words) -> None:
    """Write three more planes: the falling pill's cells by color."""
    first = 2 * (at.PLANES + 4 * at.COLORS)
    for word in range(first, first + 2 * at.COLORS):
        planes[word] = at.NO_BITS
    if game[at.STAGE] == at.FALLING:
        row, column, turn = game[at.ROW], game[at.COLUMN], game[at.TURN]
        one = game[at.SECOND] if turn >= 2 else game[at.FIRST]
        other = game[at.FIRST] if turn >= 2 else game[at.SECOND]
        planes[first + 2 * one + (row >> 3)] |= np.uint64(1) << np.uint64(8 * (row & 7) + column)
        if turn & 1 == 0:
            planes[first + 2 * other + (row >> 3)] |= np.uint64(1) << np.uint64(8 * (row & 7) + column + 1)
        elif row > 0:
            planes[first + 2 * other + ((row - 1) >> 3)] |= np.uint64(1) << np.uint64(8 * ((row - 1) & 7) + column)


@compiled
def spread_bits(bits: int) -> np.uint64:
    """Return eight bits as eight bytes of 0 or 1, the lowest first."""
    spaced = (np.uint64(bits) * EVERY_BYTE) & DIAGONAL
    return ((spaced + ROUND_UP) >> TOP_BIT) & EVERY_BYTE


@compiled
def draw_bottle(board: Words, cells: Words) -> None:
    """Write the code of every cell, `(16,)` words of a row each."""
    for row in range(at.ROWS):
        codes = at.NO_BITS
        for plane in range(at.PLANES):
            bits = row_of(board[2 * plane], board[2 * plane + 1], row)
            if bits:
                codes += spread_bits(bits) * np.uint64(WEIGHTS[plane])
        cells[row] = codes


@compiled
def draw_pill(game: Ints, cells: Bytes) -> None:
    """Draw the falling pill into the cells, `(128,)`."""
    if game[at.STAGE] != at.FALLING:
        return
    cell, turn = game[at.ROW] * 8 + game[at.COLUMN], game[at.TURN]
    one = game[at.SECOND] if turn >= 2 else game[at.FIRST]
    other = game[at.FIRST] if turn >= 2 else game[at.SECOND]
    if turn & 1 == 0:
        cells[cell] = CODE_LEFT + one
        cells[cell + 1] = CODE_RIGHT + other
    else:
        cells[cell] = CODE_BOTTOM + one if cell >= 8 else 1 + one
        if cell >= 8:
            cells[cell - 8] = CODE_TOP + other


@compiled
def draw_next(game: Ints, cells: Bytes) -> None:
    """Draw the preview, two cells."""
    cells[0] = CODE_LEFT + game[at.NEXT_FIRST]
    cells[1] = CODE_RIGHT + game[at.NEXT_SECOND]
