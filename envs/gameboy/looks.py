"""The boards that show a console as text, and where their numbers are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..fields import Array
from .assembler import code_texts

REGISTER_LINES, CODE_LINES, SPRITE_LINES, MEMORY_LINES, BYTES_PER_LINE = 6, 13, 21, 16, 8
LAST_LINES = 5
"""The first lines of code, for the last instructions; the next ones follow."""
COLUMNS = 33
MEMORY_COLUMNS = 5 + 3 * BYTES_PER_LINE
HALF_PAGE = MEMORY_LINES * BYTES_PER_LINE
SPRITES_PER_LINE, SPRITE_COLUMNS = 2, 17
REGISTERS_TEXT = """\
PC      SP      IME    HALT
AF      BC      DE      HL
LY    LCDC    STAT    IE    IF
SCX    SCY    WX    WY    BGP
DIV    TIMA    TMA    TAC
T                  frame"""
AT_PC, AT_SP, AT_IME, AT_HALT = 3, 11, 20, 28
AT_AF, AT_BC, AT_DE, AT_HL = 3, 11, 19, 27
AT_LY, AT_LCDC, AT_STAT, AT_IE, AT_IF = 3, 11, 19, 25, 31
AT_SCX, AT_SCY, AT_WX, AT_WY, AT_BGP = 4, 11, 17, 23, 30
AT_DIV, AT_TIMA, AT_TMA, AT_TAC = 4, 12, 19, 26
AT_CYCLES, AT_FRAMES = 2, 25
CYCLE_DIGITS, FRAME_DIGITS = 15, 8
SPRITES_TEXT = "#  x  y  t  f    #  x  y  t  f"
AT_CODE_BYTES, AT_CODE_TEXT = 6, 16


class Looks(NamedTuple):
    """What kernels need to draw a console as text, uint8 characters.

    Attributes:
        registers: The names of registers, `(REGISTER_LINES, COLUMNS)`.
        sprites: The heading of sprites, `(COLUMNS,)`.
        codes: The text of every operation and prefixed operation, see `disassembly.code_texts`.
    """

    registers: Array
    sprites: Array
    codes: Array


def characters(text: str, lines: int, columns: int) -> NDArray[np.uint8]:
    """Return an ASCII text as `(lines, columns)`, padded with blanks."""
    rows = [line.ljust(columns)[:columns] for line in [*text.splitlines(), *[""] * lines][:lines]]
    return np.frombuffer("".join(rows).encode("ascii"), np.uint8).reshape(lines, columns).copy()


def looks() -> Looks:
    """Return what kernels need to draw a console as text."""
    sprites = characters(SPRITES_TEXT, 1, COLUMNS)[0]
    return Looks(characters(REGISTERS_TEXT, REGISTER_LINES, COLUMNS), sprites, code_texts())
