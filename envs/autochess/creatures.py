"""The creatures of the auto-battler: lines that grow over three stars, with kinds, roles and abilities.

The kinds also have synergies: gains of a team with several creatures of one kind.
"""

from __future__ import annotations

from typing import NamedTuple

FLAME, TIDE, LEAF, SPARK, FROST, STONE, GALE, SHADE, GLOW, VENOM, STEEL, DREAM = range(12)
BEAST, BIRD, SWARM, SCALE, GIANT, SPRITE, GUARD, HUNTER, MAGE, ROGUE, HEALER, TINKER = range(12, 24)

HP, ATTACK, DEFENCE, SPECIAL_DEFENCE, SPEED, RANGE, CRIT, POWER, PP, SHIELD, DRAINING = range(11)
STATS = 11
"""Number of stats that a kind or an item can increase; crit, power and draining are percentages."""


class CreatureKind(NamedTuple):
    """A kind: a stat that its holders, or the whole team, gain at each threshold of lines on the board."""

    name: str
    color: str
    stat: int
    team: bool
    thresholds: tuple[int, ...]
    gains: tuple[int, ...]


KINDS: tuple[CreatureKind, ...] = (
    CreatureKind("flame", "#e5703f", ATTACK, False, (3, 5, 7, 9), (2, 5, 10, 18)),
    CreatureKind("tide", "#4f8fe0", PP, False, (3, 6, 9), (25, 50, 80)),
    CreatureKind("leaf", "#66b05a", HP, False, (2, 4, 6, 8), (15, 40, 80, 140)),
    CreatureKind("spark", "#e4c542", SPEED, False, (3, 5, 7, 9), (12, 25, 45, 80)),
    CreatureKind("frost", "#8fd3e8", SPECIAL_DEFENCE, True, (2, 4, 6), (2, 5, 10)),
    CreatureKind("stone", "#b39b72", DEFENCE, False, (2, 4, 6, 8), (3, 7, 12, 20)),
    CreatureKind("gale", "#9fc6b7", SPEED, True, (3, 5, 7), (6, 14, 26)),
    CreatureKind("shade", "#8a6fb8", CRIT, False, (2, 4, 6, 8), (15, 30, 50, 80)),
    CreatureKind("glow", "#f0e0a0", SHIELD, True, (3, 5, 7), (15, 35, 70)),
    CreatureKind("venom", "#a4bf3f", ATTACK, True, (3, 5, 7), (1, 3, 6)),
    CreatureKind("steel", "#a9b4c4", DEFENCE, True, (3, 6, 9), (2, 5, 10)),
    CreatureKind("dream", "#d58fd6", POWER, False, (2, 4, 6, 8), (20, 45, 80, 130)),
    CreatureKind("beast", "#c98a5a", ATTACK, False, (3, 6, 9), (3, 7, 14)),
    CreatureKind("bird", "#7fb2d9", SPEED, False, (2, 4, 6, 8), (10, 22, 38, 60)),
    CreatureKind("swarm", "#b5c86a", DRAINING, False, (2, 4, 6), (15, 30, 55)),
    CreatureKind("scale", "#5fae93", HP, False, (3, 5, 7), (25, 60, 120)),
    CreatureKind("giant", "#9c7f6a", HP, True, (2, 4, 6), (10, 25, 50)),
    CreatureKind("sprite", "#e6a5c4", SPECIAL_DEFENCE, False, (2, 4, 6), (4, 9, 16)),
    CreatureKind("guard", "#7d93b0", SHIELD, False, (2, 4, 6, 8), (20, 45, 80, 130)),
    CreatureKind("hunter", "#c76b5c", CRIT, True, (3, 4, 5, 6), (8, 15, 25, 40)),
    CreatureKind("mage", "#6d7fe0", POWER, True, (3, 5, 7), (12, 30, 60)),
    CreatureKind("rogue", "#8d8798", ATTACK, False, (2, 3, 4, 5), (2, 4, 7, 11)),
    CreatureKind("healer", "#8fd08a", DRAINING, True, (2, 4, 6), (6, 14, 26)),
    CreatureKind("tinker", "#d0a24a", PP, True, (3, 4, 5), (12, 22, 40)),
)
"""By number."""

WEATHERS = (FLAME, TIDE, SPARK, FROST)
WEATHER_POWER = 20
"""Kinds that a weather favours, and the power that their holders gain by it."""


COMMON, UNCOMMON, RARE, EPIC, ULTRA, UNIQUE, LEGENDARY = range(7)
RARITIES = ("common", "uncommon", "rare", "epic", "ultra", "unique", "legendary")
STRIKE, BLAST, SNIPE, MEND, WARD, STUN, FRENZY, DRAIN, RALLY, LANCE = range(10)
TANK, BRUISER, ARCHER, CASTER, DUELIST, MEDIC = range(6)


class CreatureLine(NamedTuple):
    """A line of creatures: one species for each of one, two and three stars."""

    name: str
    rarity: int
    kinds: tuple[int, ...]
    role: int
    ability: int


class Role(NamedTuple):
    """The stats of a common creature of one star: life, attack, defenses, speed, range and PP cost of its ability."""

    hp: int
    attack: int
    defence: int
    special_defence: int
    speed: int
    range: int
    max_pp: int


ROLES = (
    Role(90, 5, 6, 6, 35, 1, 90),
    Role(75, 8, 4, 4, 50, 1, 100),
    Role(55, 9, 2, 2, 60, 3, 100),
    Role(55, 5, 2, 3, 45, 3, 80),
    Role(60, 9, 2, 2, 80, 1, 90),
    Role(60, 5, 3, 4, 45, 2, 80),
)
"""By role: tank, bruiser, archer, caster, duelist, medic."""

STAR_HP = (100, 200, 370)
STAR_ATTACK = (100, 200, 420)
STAR_DEFENCE = (100, 130, 170)
STAR_POWER = (20, 40, 90)
STRENGTH = (100, 115, 130, 150, 175, 250, 330)
"""Percent of a role's life and attack, by rarity."""
COPIES = (27, 22, 18, 14, 10)
"""Copies of every line in the pool, by rarity; unique and legendary lines have none."""
COSTS = (1, 2, 3, 4, 5, 10, 20)

LINES: tuple[CreatureLine, ...] = (
    CreatureLine("Cindle", COMMON, (FLAME, BEAST, SCALE), BRUISER, STRIKE),
    CreatureLine("Ripplet", COMMON, (TIDE, SPRITE), CASTER, BLAST),
    CreatureLine("Thornby", COMMON, (LEAF, HEALER), MEDIC, MEND),
    CreatureLine("Zapling", COMMON, (SPARK, SCALE, BEAST), BRUISER, FRENZY),
    CreatureLine("Rimelet", COMMON, (FROST, MAGE), CASTER, LANCE),
    CreatureLine("Pebbloth", COMMON, (STONE, BIRD), ARCHER, SNIPE),
    CreatureLine("Whiffin", COMMON, (GALE, GUARD, ROGUE), TANK, WARD),
    CreatureLine("Gloomkin", COMMON, (SHADE, TINKER), ARCHER, LANCE),
    CreatureLine("Lumette", COMMON, (GLOW, GIANT), TANK, STUN),
    CreatureLine("Toxling", COMMON, (VENOM, ROGUE, GUARD), DUELIST, STRIKE),
    CreatureLine("Rivetto", COMMON, (STEEL, SWARM), DUELIST, FRENZY),
    CreatureLine("Dozelet", COMMON, (DREAM, HUNTER), ARCHER, STRIKE),
    CreatureLine("Brazen", COMMON, (FLAME, HUNTER), ARCHER, SNIPE),
    CreatureLine("Brinewick", COMMON, (TIDE, BEAST), BRUISER, DRAIN),
    CreatureLine("Mossel", COMMON, (LEAF, SPRITE, HEALER), CASTER, STUN),
    CreatureLine("Voltern", COMMON, (SPARK, HEALER), MEDIC, RALLY),
    CreatureLine("Snowick", COMMON, (FROST, SCALE), BRUISER, STRIKE),
    CreatureLine("Cobblin", COMMON, (STONE, MAGE, HUNTER), CASTER, BLAST),
    CreatureLine("Zephrit", COMMON, (GALE, BIRD), ARCHER, LANCE),
    CreatureLine("Duskit", COMMON, (SHADE, GUARD), TANK, WARD),
    CreatureLine("Haloop", COMMON, (GLOW, TINKER, GIANT), ARCHER, STRIKE),
    CreatureLine("Fangrel", COMMON, (VENOM, GIANT), TANK, STUN),
    CreatureLine("Cogwyn", UNCOMMON, (STEEL, ROGUE), DUELIST, DRAIN),
    CreatureLine("Lullamb", UNCOMMON, (DREAM, SWARM, BIRD), DUELIST, STRIKE),
    CreatureLine("Scorchit", UNCOMMON, (FLAME, SWARM), DUELIST, FRENZY),
    CreatureLine("Marlunk", UNCOMMON, (TIDE, HUNTER, MAGE), ARCHER, SNIPE),
    CreatureLine("Fernox", UNCOMMON, (LEAF, BEAST), BRUISER, FRENZY),
    CreatureLine("Fizzmote", UNCOMMON, (SPARK, SPRITE), CASTER, LANCE),
    CreatureLine("Glacern", UNCOMMON, (FROST, HEALER, SPRITE), MEDIC, MEND),
    CreatureLine("Gritmaw", UNCOMMON, (STONE, SCALE), BRUISER, DRAIN),
    CreatureLine("Squallow", UNCOMMON, (GALE, MAGE), CASTER, STUN),
    CreatureLine("Murkle", UNCOMMON, (SHADE, BIRD, SWARM), ARCHER, LANCE),
    CreatureLine("Beamish", UNCOMMON, (GLOW, GUARD), TANK, WARD),
    CreatureLine("Blightoad", UNCOMMON, (VENOM, TINKER), ARCHER, STRIKE),
    CreatureLine("Anvilor", UNCOMMON, (STEEL, GIANT, TINKER), TANK, STUN),
    CreatureLine("Reverion", UNCOMMON, (DREAM, ROGUE), DUELIST, DRAIN),
    CreatureLine("Pyrrow", UNCOMMON, (FLAME, ROGUE, GUARD), DUELIST, STRIKE),
    CreatureLine("Tidalux", UNCOMMON, (TIDE, SWARM), DUELIST, FRENZY),
    CreatureLine("Bramblit", UNCOMMON, (LEAF, HUNTER), ARCHER, SNIPE),
    CreatureLine("Arcwing", UNCOMMON, (SPARK, BEAST, SCALE), BRUISER, STRIKE),
    CreatureLine("Hailstag", UNCOMMON, (FROST, SPRITE), CASTER, BLAST),
    CreatureLine("Bouldram", UNCOMMON, (STONE, HEALER), MEDIC, RALLY),
    CreatureLine("Draftail", UNCOMMON, (GALE, SCALE, BEAST), BRUISER, FRENZY),
    CreatureLine("Wraithe", UNCOMMON, (SHADE, MAGE), CASTER, LANCE),
    CreatureLine("Dawnling", UNCOMMON, (GLOW, BIRD), ARCHER, LANCE),
    CreatureLine("Mirewort", RARE, (VENOM, GUARD, ROGUE), TANK, WARD),
    CreatureLine("Gearhog", RARE, (STEEL, TINKER, GIANT), ARCHER, STRIKE),
    CreatureLine("Mirajay", RARE, (DREAM, GIANT, TINKER), TANK, STUN),
    CreatureLine("Ashmaw", RARE, (FLAME, GIANT, TINKER), TANK, WARD),
    CreatureLine("Coralin", RARE, (TIDE, ROGUE, GUARD), DUELIST, DRAIN),
    CreatureLine("Oakurn", RARE, (LEAF, SWARM, BIRD), DUELIST, STRIKE),
    CreatureLine("Galvane", RARE, (SPARK, HUNTER, MAGE), ARCHER, SNIPE),
    CreatureLine("Icarune", RARE, (FROST, BEAST, SCALE), BRUISER, DRAIN),
    CreatureLine("Quartzel", RARE, (STONE, SPRITE, HEALER), CASTER, STUN),
    CreatureLine("Cyclowe", RARE, (GALE, HEALER, SPRITE), MEDIC, MEND),
    CreatureLine("Nightusk", RARE, (SHADE, SCALE, BEAST), BRUISER, STRIKE),
    CreatureLine("Radiel", RARE, (GLOW, MAGE, HUNTER), CASTER, BLAST),
    CreatureLine("Stingra", RARE, (VENOM, BIRD, SWARM), ARCHER, LANCE),
    CreatureLine("Ferrowl", RARE, (STEEL, GUARD, ROGUE), TANK, STUN),
    CreatureLine("Somnix", RARE, (DREAM, TINKER, GIANT), ARCHER, STRIKE),
    CreatureLine("Kilnox", RARE, (FLAME, TINKER, GIANT), ARCHER, SNIPE),
    CreatureLine("Undrake", RARE, (TIDE, GIANT, TINKER), TANK, WARD),
    CreatureLine("Petalune", RARE, (LEAF, ROGUE, GUARD), DUELIST, FRENZY),
    CreatureLine("Stattik", EPIC, (SPARK, SWARM, BIRD), DUELIST, DRAIN),
    CreatureLine("Permafox", EPIC, (FROST, HUNTER, MAGE), ARCHER, LANCE),
    CreatureLine("Slatern", EPIC, (STONE, BEAST, SCALE), BRUISER, FRENZY),
    CreatureLine("Featherin", EPIC, (GALE, SPRITE, HEALER), CASTER, LANCE),
    CreatureLine("Hollowen", EPIC, (SHADE, HEALER, SPRITE), MEDIC, RALLY),
    CreatureLine("Prismoth", EPIC, (GLOW, SCALE, BEAST), BRUISER, DRAIN),
    CreatureLine("Vipress", EPIC, (VENOM, MAGE, HUNTER), CASTER, STUN),
    CreatureLine("Chromaw", EPIC, (STEEL, BIRD, SWARM), ARCHER, STRIKE),
    CreatureLine("Psylark", EPIC, (DREAM, GUARD, ROGUE), TANK, STUN),
    CreatureLine("Solvane", EPIC, (FLAME, GUARD, ROGUE), TANK, WARD),
    CreatureLine("Wavern", EPIC, (TIDE, TINKER, GIANT), ARCHER, SNIPE),
    CreatureLine("Vinara", EPIC, (LEAF, GIANT, TINKER), TANK, STUN),
    CreatureLine("Thundrake", EPIC, (SPARK, ROGUE, GUARD), DUELIST, STRIKE),
    CreatureLine("Shiverin", EPIC, (FROST, SWARM, BIRD), DUELIST, FRENZY),
    CreatureLine("Cragjaw", EPIC, (STONE, HUNTER, MAGE), ARCHER, LANCE),
    CreatureLine("Skyrill", EPIC, (GALE, BEAST, SCALE), BRUISER, STRIKE),
    CreatureLine("Eclipsor", EPIC, (SHADE, SPRITE, HEALER), CASTER, BLAST),
    CreatureLine("Auroon", ULTRA, (GLOW, HEALER, SPRITE), MEDIC, MEND),
    CreatureLine("Noxalis", ULTRA, (VENOM, SCALE, BEAST), BRUISER, FRENZY),
    CreatureLine("Platern", ULTRA, (STEEL, MAGE, HUNTER), CASTER, LANCE),
    CreatureLine("Mindral", ULTRA, (DREAM, BIRD, SWARM), ARCHER, STRIKE),
    CreatureLine("Lavorn", ULTRA, (FLAME, BIRD, SWARM), ARCHER, SNIPE),
    CreatureLine("Kelpara", ULTRA, (TIDE, GUARD, ROGUE), TANK, WARD),
    CreatureLine("Rootger", ULTRA, (LEAF, TINKER, GIANT), ARCHER, LANCE),
    CreatureLine("Amperel", ULTRA, (SPARK, GIANT, TINKER), TANK, STUN),
    CreatureLine("Frostowl", ULTRA, (FROST, ROGUE, GUARD), DUELIST, DRAIN),
    CreatureLine("Obsidane", ULTRA, (STONE, SWARM, BIRD), DUELIST, STRIKE),
    CreatureLine("Monsoar", ULTRA, (GALE, HUNTER, MAGE), ARCHER, STRIKE),
    CreatureLine("Phantle", ULTRA, (SHADE, BEAST, SCALE), BRUISER, DRAIN),
    CreatureLine("Sunstride", ULTRA, (GLOW, SPRITE, HEALER), CASTER, STUN),
    CreatureLine("Sludgeon", ULTRA, (VENOM, HEALER, SPRITE), MEDIC, RALLY),
    CreatureLine("Emberhart", UNIQUE, (FLAME, BEAST, GIANT), BRUISER, FRENZY),
    CreatureLine("Maelstra", UNIQUE, (TIDE, MAGE, SPRITE), CASTER, BLAST),
    CreatureLine("Verdantis", UNIQUE, (LEAF, HEALER, SPRITE), MEDIC, MEND),
    CreatureLine("Stormcrown", UNIQUE, (SPARK, BIRD, HUNTER), ARCHER, LANCE),
    CreatureLine("Rimewarden", UNIQUE, (FROST, GUARD, SCALE), TANK, STUN),
    CreatureLine("Titanore", UNIQUE, (STONE, GIANT, TINKER), TANK, WARD),
    CreatureLine("Zephyrax", LEGENDARY, (GALE, BIRD, ROGUE), ARCHER, SNIPE),
    CreatureLine("Umbraxis", LEGENDARY, (SHADE, ROGUE, SWARM), DUELIST, DRAIN),
    CreatureLine("Solmarch", LEGENDARY, (GLOW, GUARD, MAGE), CASTER, BLAST),
    CreatureLine("Hydravene", LEGENDARY, (VENOM, SCALE, BEAST), BRUISER, STRIKE),
    CreatureLine("Ironmonarch", LEGENDARY, (STEEL, GIANT, GUARD), TANK, WARD),
    CreatureLine("Reverist", LEGENDARY, (DREAM, HEALER, MAGE), MEDIC, RALLY),
)
"""By rarity, the ones of the pool first."""
