"""Bottles drawn as text, and states read back as text or as the twin's cells."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pac.envs.drmario import layout as at
from pac.envs.drmario.bottle import put
from pac.envs.drmario.rules import begin

LETTERS = "ars"
LINKS = {"<": at.LEFT, ">": at.RIGHT, "^": at.TOP, "v": at.BOTTOM}
KINDS = {at.VIRUS: "virus", at.LEFT: "left", at.RIGHT: "right", at.TOP: "top", at.BOTTOM: "bottom"}


@dataclass
class State:
    """One environment's state under its two names."""

    board: NDArray[np.uint64]

    @property
    def game(self) -> NDArray[np.int64]:
        """The same memory as signed integers."""
        return self.board.view(np.int64)

    def copy(self) -> State:
        """A state of its own."""
        return State(self.board.copy())


def drawn(text: str, pill: str = "as", speed: int = 0, speed_ups: int = 0) -> State:
    """A state with a pill under control over a bottle whose lowest rows are drawn.

    Two characters a cell: a colour's letter (upper case for a virus) and `<`, `>`, `^`, `v` for a half that has its
    partner right, left, below or above, or a space for a single.
    """
    state = State(np.zeros(at.WORDS, np.uint64))
    begin(state.board, state.game, np.uint64(7), 0, speed)
    state.board[: 2 * at.PLANES] = 0
    lines = [line[1:-1] for line in text.split("\n") if line]
    viruses = 0
    for row, line in enumerate(lines, start=16 - len(lines)):
        for column in range(8):
            letter, link = line[2 * column], line[2 * column + 1]
            if letter not in ". ":
                put(state.board, LETTERS.index(letter.lower()), row, column)
            if letter.isupper():
                put(state.board, at.VIRUS, row, column)
                viruses += 1
            if link in LINKS:
                put(state.board, LINKS[link], row, column)
    state.game[at.FIRST], state.game[at.SECOND] = LETTERS.index(pill[0]), LETTERS.index(pill[1])
    state.game[at.VIRUSES] = state.game[at.VIRUSES_AT_START] = viruses
    state.game[at.SPEED_UPS], state.game[at.SPEED], state.game[at.STAGE] = speed_ups, speed, at.FALLING
    return state


def cells(board: NDArray[np.uint64]) -> list[list[tuple[int, str] | None]]:
    """The bottle as the twin keeps it."""
    bits = np.unpackbits(board[: 2 * at.PLANES].view(np.uint8), bitorder="little").reshape(at.PLANES, 16, 8)
    found: list[list[tuple[int, str] | None]] = [[None] * 8 for _ in range(16)]
    for row, column in np.argwhere(bits[:3].any(axis=0)):
        color = int(bits[:3, row, column].argmax())
        assert bits[:3, row, column].sum() == 1
        kinds = [name for plane, name in KINDS.items() if bits[plane, row, column]]
        assert len(kinds) <= 1
        found[row][column] = (color, kinds[0] if kinds else "single")
    return found


def drawing(state: State) -> str:
    """The bottle's rows from the first that holds anything on, as `drawn` reads them."""
    marks = {"left": "<", "right": ">", "top": "^", "bottom": "v", "single": " ", "virus": " "}
    lines = []
    for row in cells(state.board):
        parts = [
            ". "
            if cell is None
            else (LETTERS[cell[0]].upper() if cell[1] == "virus" else LETTERS[cell[0]]) + marks[cell[1]]
            for cell in row
        ]
        lines.append("|" + "".join(parts) + "|")
    first = next((index for index, line in enumerate(lines) if line.strip("|. ")), 16)
    return "\n".join(lines[first:])
