"""The items: ten components, and the items that two of them make."""

from __future__ import annotations

from itertools import combinations_with_replacement
from typing import NamedTuple

from .kinds import (
    ATTACK,
    BEAST,
    BIRD,
    CRIT,
    DEFENCE,
    DREAM,
    FROST,
    GIANT,
    GUARD,
    HP,
    MAGE,
    POWER,
    PP,
    ROGUE,
    SHIELD,
    SPECIAL_DEFENCE,
    SPEED,
    TINKER,
)

NOTHING = -1


class Component(NamedTuple):
    """A component: what it adds once in a mixed item, what two of it add, and the kind that a rune gives with it."""

    quality: str
    thing: str
    stat: int
    gain: int
    double: int
    kind: int


class Item(NamedTuple):
    """What an item adds to its holder, as (stat, amount), and the kind it makes of it, or `NOTHING`."""

    name: str
    gains: tuple[tuple[int, int], ...]
    kind: int


COMPONENTS: tuple[Component, ...] = (
    Component("arcane", "wand", POWER, 20, 100, MAGE),
    Component("swift", "feather", SPEED, 20, 50, BIRD),
    Component("keen", "claw", CRIT, 20, 50, ROGUE),
    Component("hale", "heart", HP, 35, 100, GIANT),
    Component("fierce", "fang", ATTACK, 5, 15, BEAST),
    Component("warm", "cloak", SPECIAL_DEFENCE, 6, 40, FROST),
    Component("hard", "shell", DEFENCE, 6, 25, GUARD),
    Component("bright", "drop", PP, 25, 80, TINKER),
    Component("calm", "charm", SHIELD, 30, 100, GUARD),
    Component("runic", "rune", POWER, 10, 40, DREAM),
)
RUNE = 9


def crafted(first: int, second: int) -> Item:
    """Describe what two components make."""
    one, other = COMPONENTS[first], COMPONENTS[second]
    name = f"{one.quality} {other.thing}"
    if first == second:
        return Item(name, ((one.stat, one.double),), DREAM if first == RUNE else NOTHING)
    return Item(name, ((one.stat, one.gain), (other.stat, other.gain)), one.kind if second == RUNE else NOTHING)


PAIRS = tuple(combinations_with_replacement(range(len(COMPONENTS)), 2))
ITEMS: tuple[Item, ...] = (
    *(Item(f"{part.thing}", ((part.stat, part.gain // 2),), NOTHING) for part in COMPONENTS),
    *(crafted(first, second) for first, second in PAIRS),
)
"""The components by number, then the item of each pair."""
