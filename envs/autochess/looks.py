"""The glyphs of creatures: two letters in the color of their first kind."""

from __future__ import annotations

from ..panels import Glyph
from .creatures import COSTS, KINDS, LINES, RARITIES

GROUNDS = ("#2a2f3b", "#1f3a2d", "#1f3354", "#3b2a5c", "#523817", "#57243a", "#55501c")
"""Background of a creature, by rarity."""
OWN_GROUND, ENEMY_GROUND = "#1b3550", "#5a1a2a"
"""Background of the creatures of a fight."""
LIGHT_SQUARE, DARK_SQUARE, BENCH_GROUND = "#1b212c", "#161b24", "#10141b"
DOTS = "#2f3949"
STAR_COLOR, ITEM_COLOR, LIFE_COLOR, POWER_COLOR = "#e8c64f", "#c9d1dc", "#86c58b", "#7cb0f5"

DARK, BENCH_PLACE = 1 + len(LINES), 2 + len(LINES)
"""Codes of empty cells with other glyphs than code 0."""
ENEMY = 128
"""Added to the code of an enemy's line."""


def codes() -> tuple[str, ...]:
    """Two letters for every line, all different: the first of its name and the first later one that is still free."""
    taken: list[str] = []
    for line in LINES:
        letters = (line.name[0] + letter for letter in line.name[1:] + "abcdefghijklmnopqrstuvwxyz")
        taken.append(next(code for code in letters if code not in taken))
    return tuple(taken)


CODES = codes()


def creature(index: int) -> Glyph:
    """Return the glyph of a line, on its rarity's background."""
    line = LINES[index]
    kinds = " ".join(KINDS[kind].name for kind in line.kinds)
    return Glyph(
        wide=CODES[index],
        narrow=line.name[0],
        color=KINDS[line.kinds[0]].color,
        ground=GROUNDS[line.rarity],
        name=line.name,
        note=f"{kinds} {COSTS[line.rarity]}\N{NO-BREAK SPACE}gold",
    )


def fighter(index: int, *, enemy: bool = False) -> Glyph:
    """Return the glyph of a line in a fight, by its side; enemies in lower case."""
    code = CODES[index].lower() if enemy else CODES[index]
    ground = ENEMY_GROUND if enemy else OWN_GROUND
    return Glyph(wide=code, narrow=code[0], color=KINDS[LINES[index].kinds[0]].color, ground=ground)


def place(ground: str, dot: str = " .") -> Glyph:
    """Return the glyph of an empty cell."""
    return Glyph(wide=dot, narrow=".", color=DOTS, ground=ground)


EMPTY = place(LIGHT_SQUARE)
GLYPHS = (EMPTY, *(creature(index) for index in range(len(LINES))), place(DARK_SQUARE), place(BENCH_GROUND, "__"))
"""A light square, every line, a dark square, a place of the bench."""
FIGHT_GLYPHS = (
    EMPTY,
    *(fighter(index) for index in range(len(LINES))),
    *GLYPHS[DARK:],
    *[EMPTY] * (ENEMY + 1 - len(GLYPHS)),
    *(fighter(index, enemy=True) for index in range(len(LINES))),
)
"""By the codes of `GLYPHS`; enemies from 129 on."""
SHOP_GLYPHS = (Glyph("  ", " ", DOTS, BENCH_GROUND), *GLYPHS[1 : len(LINES) + 1])

assert len(RARITIES) == len(GROUNDS)
assert len(GLYPHS) <= ENEMY
