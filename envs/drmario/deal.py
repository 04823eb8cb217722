"""The start of an episode: its random numbers, pills and viruses."""

from __future__ import annotations

import numpy as np

from ..native import compiled
from . import layout as at
from .bottle import occupied, put, row_of
from .layout import Ints, Words, signed

POWER_ON = 0x8988
PAIRS = at.COLORS * at.COLORS
ODD_COLORS = (0, 1, 2, 2, 1, 0, 0, 1, 2, 2, 1, 0, 0, 1, 2, 1)
"""The color of every fourth virus, by the low four bits of a random number."""


@compiled
def draw(random: int) -> int:
    """Return the next state of the console's 16-bit shift register; its high byte is the first random byte."""
    return (((random >> 9 ^ random >> 1) & 1) << 15) | (random >> 1)


@compiled
def register_of(seed: np.uint64) -> int:
    """Return the register's state for a seed: its low 16 bits, or the console's initial state for 0 and 1."""
    register = signed(seed & np.uint64(0xFFFF))
    return register if register > 1 else POWER_ON


@compiled
def pill_at(board: Words, index: int) -> int:
    """Return a pill of the reserve, 3 * first color + second color; the index wraps at 128."""
    kept = index & (at.PILLS_KEPT - 1)
    return signed((board[at.RESERVE + (kept >> 4)] >> np.uint64(4 * (kept & 15))) & np.uint64(15))


@compiled
def deal_pills(board: Words, random: int) -> int:
    """Fill the reserve of 128 pills from its end; return the random state."""
    for word in range(at.PILLS_KEPT // 16):
        board[at.RESERVE + word] = at.NO_BITS
    pill = 0
    for step in range(at.PILLS_KEPT):
        index = at.PILLS_KEPT - 1 - step
        random = draw(random)
        pill = (pill + (random >> 8 & 15)) % PAIRS
        board[at.RESERVE + (index >> 4)] |= np.uint64(pill) << np.uint64(4 * (index & 15))
    return random


@compiled
def highest_virus(level: int) -> int:
    """Return the height of the topmost row that may hold a virus, counted from the bottom row as 0."""
    if level >= 19:
        return 12
    if level >= 17:
        return 11
    return 10 if level >= 15 else 9


@compiled
def taken_colors(board: Words, cell: int) -> int:
    """Return the bit set of the colors exactly two cells up, down, left and right."""
    row, column = cell >> 3, cell & 7
    taken = 0
    for color in range(at.COLORS):
        low, high = board[2 * color], board[2 * color + 1]
        here = row_of(low, high, row)
        near = (here << 2 | here >> 2) >> column & 1
        if row >= 2:
            near |= row_of(low, high, row - 2) >> column & 1
        if row < at.ROWS - 2:
            near |= row_of(low, high, row + 2) >> column & 1
        taken |= near << color
    return taken


@compiled
def place_virus(board: Words, cell: int, color: int) -> bool:
    """Put a virus on the first empty cell from `cell` on with an allowed color; return whether there is one."""
    for place in range(cell, at.ROWS * at.COLUMNS):
        low, high = occupied(board)
        taken = taken_colors(board, place)
        if row_of(low, high, place >> 3) >> (place & 7) & 1 or taken == 7:
            continue
        while taken >> color & 1:
            color = color - 1 if color > 0 else at.COLORS - 1
        put(board, color, place >> 3, place & 7)
        put(board, at.VIRUS, place >> 3, place & 7)
        return True
    return False


@compiled
def deal_viruses(board: Words, random: int, level: int) -> int:
    """Place 4 * (level + 1) viruses; return the random state. A virus without a cell is drawn again."""
    remaining = 4 * (level + 1)
    while remaining > 0:
        random = draw(random)
        height = random >> 8 & 15
        while height > highest_virus(level):
            random = draw(random)
            height = random >> 8 & 15
        cell = (at.ROWS - 1 - height) * at.COLUMNS + (random & 7)
        color = remaining & 3
        if color == at.COLORS:
            random = draw(random)
            color = ODD_COLORS[random & 15]
        if place_virus(board, cell, color):
            remaining -= 1
    return random


@compiled
def show_pills(board: Words, game: Ints) -> None:
    """Take the pill in hand and the preview from the reserve, by the number of pills placed."""
    hand, preview = pill_at(board, game[at.PILLS]), pill_at(board, game[at.PILLS] + 1)
    game[at.FIRST], game[at.SECOND] = hand // at.COLORS, hand % at.COLORS
    game[at.NEXT_FIRST], game[at.NEXT_SECOND] = preview // at.COLORS, preview % at.COLORS


@compiled
def deal(board: Words, game: Ints, seed: np.uint64, level: int, speed: int) -> None:
    """Begin an episode with a new bottle and a new reserve of pills. The first pill is not yet under control.

    Args:
        board: The state's words, all of which are written except the run's seed and the episode count.
        game: The same memory as signed integers.
        seed: The episode's seed, of which the register takes 16 bits.
        level: 0 to 20.
        speed: 0 low, 1 medium, 2 high.
    """
    for word in range(2 * at.PLANES):
        board[word] = at.NO_BITS
    for word in range(at.STAGE, at.WORDS):
        game[word] = 0
    game[at.RANDOM] = deal_viruses(board, deal_pills(board, register_of(seed)), level)
    game[at.STAGE], game[at.OUTCOME] = at.FALLING, at.RUNNING
    game[at.LEVEL], game[at.SPEED] = level, speed
    game[at.VIRUSES] = game[at.VIRUSES_AT_START] = 4 * (level + 1)
    show_pills(board, game)
