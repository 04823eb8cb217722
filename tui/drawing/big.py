"""Numbers three lines high, of half blocks."""

from __future__ import annotations

import numpy as np

from .dots import HALVES

LINES = 3
ROWS = range(4, -1, -1)
FONT = {
    "0": 0o75557, "1": 0o26227, "2": 0o71747, "3": 0o71717, "4": 0o55711, "5": 0o74717, "6": 0o74757, "7": 0o71111,
    "8": 0o75757, "9": 0o75717, "+": 0o02720, "e": 0o75747, "k": 0o45655, "M": 0o57755, "G": 0o74557,
}  # fmt: skip
"""Five rows of three dots, a digit of the number for each row."""
NARROW = {".": [[0], [0], [0], [0], [1]], "-": [[0, 0], [0, 0], [1, 1], [0, 0], [0, 0]]}


def big(text: str) -> list[str]:
    """Return a number in `LINES` lines, each character three columns wide or less, with gaps of one column."""
    gap = np.zeros((len(ROWS), 1), bool)
    parts = [part for letter in text for part in (gap, _dots(letter))]
    return HALVES.lines(np.pad(np.hstack(parts[1:]), ((1, 0), (0, 0))))


def _dots(letter: str) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    rows = FONT.get(letter, 0)
    return np.array(
        NARROW.get(letter) or [[rows >> 3 * row + column & 1 for column in (2, 1, 0)] for row in ROWS], bool
    )
