"""Words of one row: 32 bits, a byte of columns for each of a pill's four turns.

In turns 0 and 2 the pill is in columns c and c + 1, in turn 2 with the halves swapped. In turns 1 and 3 it is vertical
with the lower half in the row, in turn 1 with the first half below and in turn 3 above.
"""

from __future__ import annotations

from ..native import compiled
from .rules import SPAWN_COLUMN

SPAWN = 1 << SPAWN_COLUMN
ALL_LANES = 0xFFFF_FFFF
FLAT_LANES = 0x00FF_00FF
NOT_FIRST = 0x7F7F_7F7F
NOT_LAST = 0xFEFE_FEFE


@compiled
def clockwise(word: int) -> int:
    """Return every position in the lane of its turn after A."""
    return (word >> 8) | ((word & 0xFF) << 24)


@compiled
def counterclockwise(word: int) -> int:
    """Return every position in the lane of its turn after B."""
    return ((word << 8) & ALL_LANES) | (word >> 24)


@compiled
def turned(word: int, free: int) -> int:
    """Return where turned pills end; `word` has them in the lanes of their new turn, before any kick."""
    blocked = word & ~free & FLAT_LANES
    return (word | ((blocked >> 1) & NOT_FIRST)) & free


@compiled
def turned_left(word: int, free: int) -> int:
    """Return where turned pills end while Left is held: those that now lie move one column left if they can."""
    fitting = word & free
    flat = fitting & FLAT_LANES
    moved = (flat >> 1) & NOT_FIRST & free
    stuck = flat & ~((moved << 1) & NOT_LAST)
    kicked = ((word & ~free & FLAT_LANES) >> 1) & NOT_FIRST & free
    return (fitting & ~FLAT_LANES) | moved | stuck | kicked


@compiled
def spread(word: int, free: int) -> int:
    """Return the positions that at most one elementary move reaches from `word`, if those in `free` are possible."""
    beside = ((word >> 1) & NOT_FIRST) | ((word << 1) & NOT_LAST)
    return word | (beside & free) | turned(clockwise(word), free) | turned(counterclockwise(word), free)
