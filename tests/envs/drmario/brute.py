"""Every placement that buttons reach, by trying all buttons in all states of the compiled rules.

It knows nothing of rows, words or patience: a visited table over (place, gravity, charge, held buttons, parity of the
frame).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from pac.envs.drmario import layout as at
from pac.envs.drmario.layout import signed
from pac.envs.drmario.rules import control, hang

uncached: Any = njit

ALL_BUTTONS = np.array(at.BUTTONS, np.int64)


@uncached
def number(game: NDArray[np.int64], frames: int) -> int:
    """Index of the falling pill's state; what no rule will ever read is left out."""
    held = game[at.HELD]
    hold = 0
    if held & 3:
        hold = (1 if held & 1 else 17) + game[at.CHARGE]
    press = 1 if held & at.PRESS_A else (2 if held & at.PRESS_B else 0)
    place = (game[at.ROW] * 8 + game[at.COLUMN]) * 4 + game[at.TURN]
    return signed((((place * frames + game[at.GRAVITY]) * 33 + hold) * 3 + press) * 2 + (game[at.CLOCK] & 1))


@uncached
def explore(
    states: NDArray[np.uint64], games: NDArray[np.int64], seen: NDArray[np.uint8], todo: NDArray[np.int64]
) -> NDArray[np.uint8]:
    """Flags of the (row, column, turn) that lock, `(16, 8, 4)`.

    Args:
        states: Two copies of a state with a pill under control; the second is overwritten.
        games: The same memory as signed integers.
        seen: Zeros, one for each state.
        todo: A stack with a row of what distinguishes a state for each of them.
    """
    locks = np.zeros((16, 8, 4), np.uint8)
    frames = hang(games[0]) + 1
    board, game = states[1], games[1]
    fields = (at.ROW, at.COLUMN, at.TURN, at.GRAVITY, at.CHARGE, at.HELD, at.CLOCK)
    for index, name in enumerate(fields):
        todo[0, index] = games[0, name]
    seen[number(games[0], frames)] = 1
    depth = 1
    while depth > 0:
        depth -= 1
        row = todo[depth].copy()
        for buttons in ALL_BUTTONS:
            board[:] = states[0]
            for index, name in enumerate(fields):
                game[name] = row[index]
            control(board, game, buttons)
            game[at.CLOCK] += 1
            if game[at.STAGE] != at.FALLING:
                locks[row[0], row[1], row[2]] = 1
                continue
            key = number(game, frames)
            if not seen[key]:
                seen[key] = 1
                for index, name in enumerate(fields):
                    todo[depth, index] = game[name]
                depth += 1
    return locks


def placements(state: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """The mask `(512,)` of a state with a pill under control."""
    states = np.stack([state, state])
    games = states.view(np.int64)
    size = 512 * int(hang(games[0]) + 1) * 33 * 3 * 2
    locks = explore(states, games, np.zeros(size, np.uint8), np.zeros((size, 7), np.int64))
    mask = np.zeros((4, 16, 8), np.bool_)
    for row, column, turn in zip(*np.nonzero(locks), strict=True):
        if turn == 3 and row == 0:
            continue
        first = {0: (0, row, column), 1: (3, row, column), 2: (2, row, column + 1), 3: (1, row - 1, column)}[turn]
        mask[first] = True
    return mask.reshape(-1)


assert at.WORDS * 2 > at.STAGE
