"""The picture of a player's last fight: who stands where at its end."""

from __future__ import annotations

from .arena import COLUMNS, COUNT, ROWS, SIDE, SLOTS, SPECIES, X, Y
from .bag import line_of
from .compiled import compiled
from .kinds import HP
from .layout import FIGHT, Ints

ENEMY = 128
"""Added to the code of an enemy's line."""


@compiled
def keep_picture(game: Ints, me: int, arena: Ints, side: int) -> None:
    """Keep who stands where, `1 + line`, enemies plus 128; own side below, as its player sees it."""
    for cell in range(ROWS * COLUMNS):
        game[me + FIGHT + cell] = 0
    for slot in range(arena[COUNT]):
        if arena[HP * SLOTS + slot] > 0:
            x, y = arena[X * SLOTS + slot], arena[Y * SLOTS + slot]
            row = ROWS - 1 - y if side == 0 else y
            column = x if side == 0 else COLUMNS - 1 - x
            enemy = ENEMY if arena[SIDE + slot] != side else 0
            game[me + FIGHT + row * COLUMNS + column] = 1 + line_of(arena[SPECIES * SLOTS + slot]) + enemy
