"""How the creatures look: two letters in the colour of their first kind."""

from __future__ import annotations

from ..task import Glyph
from .creatures import LINES, RARITIES
from .kinds import KINDS

GROUND = "#13151d"
GROUNDS = ("#23262f", "#1f2b26", "#1e2838", "#2b2140", "#3a2b1c", "#3d1f2b", "#3d3a1c")
"""Behind a creature, by rarity."""
ENEMY_GROUND = "#4a1420"
STAR_COLORS = ("#3a3f4b", "#b98555", "#b9c1cc", "#e8c64f")


def codes() -> tuple[str, ...]:
    """Two letters for every line, all different: the first of its name and the first later one that is still free."""
    taken: list[str] = []
    for line in LINES:
        letters = (line.name[0] + letter for letter in line.name[1:] + "abcdefghijklmnopqrstuvwxyz")
        taken.append(next(code for code in letters if code not in taken))
    return tuple(taken)


def creature(index: int, ground: str | None = None) -> Glyph:
    """The look of a line; on its rarity's ground unless another is given."""
    line = LINES[index]
    return Glyph(
        wide=CODES[index],
        narrow=line.name[0].lower() if ground else line.name[0],
        color=KINDS[line.kinds[0]].color,
        ground=ground or GROUNDS[line.rarity],
    )


CODES = codes()
EMPTY = Glyph(wide="  ", narrow=" ", color=GROUND, ground=GROUND)
GLYPHS = (EMPTY, *(creature(index) for index in range(len(LINES))))
"""Nothing, then every line."""
FIGHT_GLYPHS = (
    *GLYPHS,
    *[EMPTY] * (129 - len(GLYPHS)),
    *(creature(index, ENEMY_GROUND) for index in range(len(LINES))),
)
"""As `GLYPHS`; enemies from 129 on."""
STAR_GLYPHS = (
    Glyph(wide=" .", narrow=".", color=STAR_COLORS[0], ground=GROUND),
    *(Glyph(wide=f"{stars}*", narrow=str(stars), color=STAR_COLORS[stars], ground=GROUND) for stars in range(1, 4)),
)

assert len(RARITIES) == len(GROUNDS)
