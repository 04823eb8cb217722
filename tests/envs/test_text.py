"""Text as data: letters, their colours, and the sizes that text takes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pac.envs.text import CODE, GROUND, LETTER, cells_of, size_of

LINES = st.lists(st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S"]), max_size=9), max_size=5)


def letters(cells) -> list[str]:
    return ["".join(chr(code) for code in row) for row in (cells & CODE).tolist()]


@given(LINES, st.integers(1, 6), st.integers(1, 10))
def test_letters_stand_where_they_stood(lines, rows, columns):
    """Any text is cut and filled to the cells that there are, whatever colours lie between."""
    expected = [line[:columns].ljust(columns) for line in [*lines, *[""] * rows][:rows]]
    assert letters(cells_of("\n".join(lines), (rows, columns))) == expected
    painted = "\n".join("\x1b[1;34m".join(["", *line]) + "\x1b[0m" for line in lines)
    assert letters(cells_of(painted, (rows, columns))) == expected
    assert size_of(painted) == size_of("\n".join(lines))


@pytest.mark.parametrize(
    ("escapes", "ground", "letter"),
    [
        ("\x1b[31m", 0, 2),
        ("\x1b[41m", 2, 0),
        ("\x1b[97;104m", 5, 8),
        ("\x1b[7m", 8, 1),
        ("\x1b[32;7m", 3, 1),
        ("\x1b[32m\x1b[45m\x1b[39m", 6, 0),
        ("\x1b[32m\x1b[45m\x1b[49m", 0, 3),
        ("\x1b[41m\x1b[m", 0, 0),
        ("\x1b[38;5;31m", 0, 0),
        ("\x1b[2K\x1b[1m", 0, 0),
    ],
)
def test_colours(escapes, ground, letter):
    """The eight colours, plain and bright, of letters and grounds; reversed, reset, and what is not understood."""
    cell = int(cells_of(f"{escapes}x", (1, 1))[0, 0])
    assert (cell & CODE, cell >> GROUND & 15, cell >> LETTER & 15) == (ord("x"), ground, letter)


def test_control_characters_take_no_room():
    """Tabs are spaces; what cannot be printed is left out."""
    assert letters(cells_of("a\tb\x07c\r", (1, 12))) == ["a       bc  "]
    assert np.all(cells_of("", (2, 3)) == ord(" "))
