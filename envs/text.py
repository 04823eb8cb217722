"""Text as data: one character with its colors per cell, for environments that render text.

A cell is a uint32: the code point in the low bits, then the background and the foreground color, each 0 for the default
or 1 to 8 for black, red, green, yellow, blue, magenta, cyan and white.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

CODE = (1 << 21) - 1
GROUND, LETTER = 24, 28
"""The bit offsets of background and foreground color in a cell."""
ESCAPE = re.compile(r"\x1b\[([0-9;]*)([A-Za-z])")


def cells_of(text: str, shape: tuple[int, int]) -> NDArray[np.uint32]:
    """Return text as `shape` cells, padded with blanks or cut. Escapes other than colors are dropped."""
    cells = np.full(shape, ord(" "), np.uint32)
    rows, columns = shape
    row = column = colors = 0
    for letters, style in _pieces(text.expandtabs()):
        for letter in letters:
            if letter == "\n":
                row, column = row + 1, 0
            elif row < rows and column < columns and letter.isprintable():
                cells[row, column] = ord(letter) | colors
                column += 1
        if style is not None:
            colors = _colored(colors, style)
    return cells


def size_of(text: str) -> tuple[int, int]:
    """Return the number of rows and columns of a text."""
    lines = ESCAPE.sub("", text.expandtabs()).rstrip().split("\n")
    return len(lines), max(len(line) for line in lines)


def _pieces(text: str) -> Iterator[tuple[str, str | None]]:
    """Yield the text between escapes, each piece with the style that the escape after it sets."""
    end = 0
    for found in ESCAPE.finditer(text):
        yield text[end : found.start()], found[1] if found[2] == "m" else None
        end = found.end()
    yield text[end:], None


def _colored(colors: int, style: str) -> int:
    """Return the color bits after a Select Graphic Rendition escape (ECMA-48) with these numbers."""
    ground, letter = colors >> GROUND & 15, colors >> LETTER & 15
    for number in (int(part or 0) for part in style.split(";")):
        if number in {38, 48}:
            break  # colors of larger palettes, whose numbers follow
        if number == 0:
            ground = letter = 0
        elif number == 7:
            ground, letter = letter or 8, ground or 1
        elif number in {39, 49}:
            ground, letter = (0, letter) if number == 49 else (ground, 0)
        elif number % 10 <= 7 and number // 10 in {3, 9}:
            letter = number % 10 + 1
        elif number % 10 <= 7 and number // 10 in {4, 10}:
            ground = number % 10 + 1
    return ground << GROUND | letter << LETTER
