"""Items: ten components, and what two of them make; and the data of the game as arrays for kernels.

Species are numbered 1 + 3 * line + stars - 1; 0 is an empty cell.
"""

from __future__ import annotations

from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np

from .creatures import (
    ATTACK,
    BEAST,
    BIRD,
    COSTS,
    CRIT,
    DEFENCE,
    DREAM,
    FROST,
    GIANT,
    GUARD,
    HP,
    KINDS,
    LINES,
    MAGE,
    POWER,
    PP,
    RANGE,
    ROGUE,
    ROLES,
    SHIELD,
    SPECIAL_DEFENCE,
    SPEED,
    STAR_ATTACK,
    STAR_DEFENCE,
    STAR_HP,
    STAR_POWER,
    STATS,
    STRENGTH,
    TINKER,
)
from .creatures import COPIES as COPIES_BY_RARITY
from .layout import POOL_LINES, Ints

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


SPECIES = 3 * len(LINES)
BASE_CRIT = 10
TYPES = 4
TIERS_OF_KIND = 4
NEVER = 99

LINE_RARITY: Ints = np.array([line.rarity for line in LINES])
LINE_COST: Ints = np.array([COSTS[line.rarity] for line in LINES])
LINE_TYPES: Ints = np.array([[*line.kinds, *[NOTHING] * (TYPES - len(line.kinds))] for line in LINES])
LINE_ABILITY: Ints = np.array([line.ability for line in LINES])
LINE_MAX_PP: Ints = np.array([ROLES[line.role].max_pp for line in LINES])
LINE_RANGE: Ints = np.array([ROLES[line.role].range for line in LINES])
COPIES: Ints = np.array(COPIES_BY_RARITY)
FIRST_LINE: Ints = np.searchsorted(LINE_RARITY, np.arange(len(COSTS) + 1)).astype(np.int64)
"""The first line of each rarity, and one past the last line."""

SHOP_ODDS: Ints = np.array(
    [
        [100, 0, 0, 0, 0],
        [70, 30, 0, 0, 0],
        [50, 40, 10, 0, 0],
        [36, 42, 20, 2, 0],
        [25, 40, 30, 5, 0],
        [16, 33, 35, 15, 1],
        [11, 27, 35, 22, 5],
        [5, 20, 35, 30, 10],
    ]
)
"""Percent of each rarity, by level from 2 on."""
XP_NEEDED: Ints = np.array([0, 2, 2, 6, 10, 22, 34, 52, 72, 0])
"""XP to the next level, by level."""
RARITY_SCALE = np.array([0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 1.0], np.float32)


def _stats() -> Ints:
    table = np.zeros((SPECIES + 1, STATS), np.int64)
    for number, line in enumerate(LINES):
        role, strength = ROLES[line.role], STRENGTH[line.rarity]
        for star in range(3):
            row = table[1 + 3 * number + star]
            row[HP] = role.hp * strength * STAR_HP[star] // 10_000
            row[ATTACK] = role.attack * strength * STAR_ATTACK[star] // 10_000
            row[DEFENCE] = role.defence * STAR_DEFENCE[star] // 100
            row[SPECIAL_DEFENCE] = role.special_defence * STAR_DEFENCE[star] // 100
            row[SPEED], row[RANGE], row[CRIT] = role.speed, role.range, BASE_CRIT
    return table


UNIT_STATS = _stats()
ABILITY_POWER: Ints = np.array(
    [0, *(STAR_POWER[star] * STRENGTH[line.rarity] // 100 for line in LINES for star in range(3))]
)
"""Damage or healing of a species' ability, without gains."""

KIND_STAT: Ints = np.array([kind.stat for kind in KINDS])
KIND_TEAM: Ints = np.array([int(kind.team) for kind in KINDS])
KIND_AT: Ints = np.array([[*kind.thresholds, *[NEVER] * (TIERS_OF_KIND - len(kind.thresholds))] for kind in KINDS])
KIND_GAIN: Ints = np.array([[0, *kind.gains, *[0] * (TIERS_OF_KIND - len(kind.gains))] for kind in KINDS])
"""The gain of a kind at each tier, from 0 on."""

ITEM_KIND: Ints = np.array([item.kind for item in ITEMS])
ITEM_GAINS: Ints = np.zeros((len(ITEMS), STATS), np.int64)
for _number, _item in enumerate(ITEMS):
    for _stat, _gain in _item.gains:
        ITEM_GAINS[_number, _stat] += _gain
COMPONENT_COUNT = len(COMPONENTS)
CRAFTED: Ints = np.zeros((COMPONENT_COUNT, COMPONENT_COUNT), np.int64)
for _number, (_one, _other) in enumerate(PAIRS):
    CRAFTED[_one, _other] = CRAFTED[_other, _one] = COMPONENT_COUNT + _number
"""What two components make."""

ITEM_STAGES = (4, 12, 17, 22, 27, 34)
WILD_TEAMS: Ints = np.zeros((64, 9), np.int64)
"""Species of a stage's wild creatures; all 0 if players fight each other."""
for _stage, _count, _star, _rarity in (
    (1, 1, 0, 0), (2, 2, 0, 0), (3, 3, 0, 0), (9, 4, 0, 2), (14, 5, 1, 1), (19, 6, 1, 2), (24, 7, 1, 3),
    (28, 8, 1, 4), (32, 8, 2, 2), (36, 9, 2, 3), (40, 9, 2, 4),
):  # fmt: skip
    for _place in range(_count):
        _first, _last = FIRST_LINE[_rarity], FIRST_LINE[_rarity + 1]
        WILD_TEAMS[_stage, _place] = 1 + 3 * (_first + (7 * _stage + 5 * _place) % (_last - _first)) + _star

OFFER_KIND: Ints = np.zeros(64, np.int64)
"""The offers at the start of a stage: 1 + the rarity of the creatures, -1 for items, 0 for none."""
for _stage, _rarity in ((5, 1), (8, 2), (10, 5), (11, 3), (20, 6)):
    OFFER_KIND[_stage] = 1 + _rarity
OFFER_KIND[list(ITEM_STAGES)] = -1
OFFER_COUNT: Ints = np.where(np.isin(np.arange(64), (0, 10, 20)), 6, 3).astype(np.int64)

assert FIRST_LINE[len(COPIES_BY_RARITY)] == POOL_LINES
assert DEFENCE < STATS
