"""The board that shows registers and memory as text, and where its numbers are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..text import cells_of

LINES, COLUMNS = 13, 53
CODE_LINE, MEMORY_LINE, MEMORY_LINES = 3, 5, 8
TEXT = """\
PC      SP      IME   HALT   T
AF      BC      DE      HL
LY    LCDC    STAT    IE    IF
code
"""
AT_PC, AT_SP, AT_IME, AT_HALT, AT_CYCLES = 3, 11, 20, 27, 31
AT_AF, AT_BC, AT_DE, AT_HL = 3, 11, 19, 27
AT_LY, AT_LCDC, AT_STAT, AT_IE, AT_IF = 3, 11, 19, 25, 31
AT_CODE = 5


def template_of(page: int) -> NDArray[np.uint32]:
    """Return the text of the board, with blanks where its numbers are."""
    memory = "\n".join(f"{page << 8 | 16 * line:04X}" for line in range(MEMORY_LINES))
    return cells_of(f"{TEXT}\n{memory}", (LINES, COLUMNS))
