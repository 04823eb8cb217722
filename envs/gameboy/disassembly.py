"""The texts of instructions, made from the assembler's table."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .assembler import ENCODINGS

TEXT_COLUMNS = 14
LENGTH = TEXT_COLUMNS
"""The column of a text's row that has the bytes of the instruction."""
BYTE, PAIR, TARGET = 1, 2, 3
"""In a text, the places of an operand: a byte, two bytes, and the address that a byte jumps to."""
OPERANDS = {"n16": (PAIR, 2), "n8": (BYTE, 1), "e8": (BYTE, 1)}
PREFIX = 0xCB


def code_texts() -> NDArray[np.uint8]:
    """Return `(512, TEXT_COLUMNS + 1)`: the text of every operation, then of those after CB, and their lengths.

    A character below 4 is the place of an operand.
    """
    found = np.full((512, TEXT_COLUMNS + 1), ord(" "), np.uint8)
    found[:, LENGTH] = 1
    for number in range(256):
        _write(found[number], f"db ${number:02x}")
    for text, code in ENCODINGS.items():
        row = found[code[-1] + 256 * (code[0] == PREFIX and len(code) > 1)]
        row[LENGTH] = len(code)
        for name, (mark, size) in OPERANDS.items():
            if name in text:
                text = text.replace(name, chr(TARGET if text.startswith("jr ") else mark))  # noqa: PLW2901
                row[LENGTH] += size
        _write(row, text)
    return found


def _write(row: NDArray[np.uint8], text: str) -> None:
    row[:TEXT_COLUMNS] = np.frombuffer(text.ljust(TEXT_COLUMNS).encode("ascii"), np.uint8)
