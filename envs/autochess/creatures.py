"""The creatures of the auto-battler: lines that grow over three stars, with their kinds, roles and abilities."""

from __future__ import annotations

from typing import NamedTuple

from .kinds import (
    BEAST,
    BIRD,
    DREAM,
    FLAME,
    FROST,
    GALE,
    GIANT,
    GLOW,
    GUARD,
    HEALER,
    HUNTER,
    LEAF,
    MAGE,
    ROGUE,
    SCALE,
    SHADE,
    SPARK,
    SPRITE,
    STEEL,
    STONE,
    SWARM,
    TIDE,
    TINKER,
    VENOM,
)

COMMON, UNCOMMON, RARE, EPIC, ULTRA, UNIQUE, LEGENDARY = range(7)
RARITIES = ("common", "uncommon", "rare", "epic", "ultra", "unique", "legendary")
STRIKE, BLAST, SNIPE, MEND, WARD, STUN, FRENZY, DRAIN, RALLY, LANCE = range(10)
TANK, BRUISER, ARCHER, CASTER, DUELIST, MEDIC = range(6)


class Line(NamedTuple):
    """A line of creatures, which is one species at one, two or three stars."""

    name: str
    rarity: int
    kinds: tuple[int, ...]
    role: int
    ability: int


class Role(NamedTuple):
    """What a common creature of one star has: life, attack, defences, speed, range and PP that its ability costs."""

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

LINES: tuple[Line, ...] = (
    Line("Cindle", COMMON, (FLAME, BEAST, SCALE), BRUISER, STRIKE),
    Line("Ripplet", COMMON, (TIDE, SPRITE), CASTER, BLAST),
    Line("Thornby", COMMON, (LEAF, HEALER), MEDIC, MEND),
    Line("Zapling", COMMON, (SPARK, SCALE, BEAST), BRUISER, FRENZY),
    Line("Rimelet", COMMON, (FROST, MAGE), CASTER, LANCE),
    Line("Pebbloth", COMMON, (STONE, BIRD), ARCHER, SNIPE),
    Line("Whiffin", COMMON, (GALE, GUARD, ROGUE), TANK, WARD),
    Line("Gloomkin", COMMON, (SHADE, TINKER), ARCHER, LANCE),
    Line("Lumette", COMMON, (GLOW, GIANT), TANK, STUN),
    Line("Toxling", COMMON, (VENOM, ROGUE, GUARD), DUELIST, STRIKE),
    Line("Rivetto", COMMON, (STEEL, SWARM), DUELIST, FRENZY),
    Line("Dozelet", COMMON, (DREAM, HUNTER), ARCHER, STRIKE),
    Line("Brazen", COMMON, (FLAME, HUNTER), ARCHER, SNIPE),
    Line("Brinewick", COMMON, (TIDE, BEAST), BRUISER, DRAIN),
    Line("Mossel", COMMON, (LEAF, SPRITE, HEALER), CASTER, STUN),
    Line("Voltern", COMMON, (SPARK, HEALER), MEDIC, RALLY),
    Line("Snowick", COMMON, (FROST, SCALE), BRUISER, STRIKE),
    Line("Cobblin", COMMON, (STONE, MAGE, HUNTER), CASTER, BLAST),
    Line("Zephrit", COMMON, (GALE, BIRD), ARCHER, LANCE),
    Line("Duskit", COMMON, (SHADE, GUARD), TANK, WARD),
    Line("Haloop", COMMON, (GLOW, TINKER, GIANT), ARCHER, STRIKE),
    Line("Fangrel", COMMON, (VENOM, GIANT), TANK, STUN),
    Line("Cogwyn", UNCOMMON, (STEEL, ROGUE), DUELIST, DRAIN),
    Line("Lullamb", UNCOMMON, (DREAM, SWARM, BIRD), DUELIST, STRIKE),
    Line("Scorchit", UNCOMMON, (FLAME, SWARM), DUELIST, FRENZY),
    Line("Marlunk", UNCOMMON, (TIDE, HUNTER, MAGE), ARCHER, SNIPE),
    Line("Fernox", UNCOMMON, (LEAF, BEAST), BRUISER, FRENZY),
    Line("Fizzmote", UNCOMMON, (SPARK, SPRITE), CASTER, LANCE),
    Line("Glacern", UNCOMMON, (FROST, HEALER, SPRITE), MEDIC, MEND),
    Line("Gritmaw", UNCOMMON, (STONE, SCALE), BRUISER, DRAIN),
    Line("Squallow", UNCOMMON, (GALE, MAGE), CASTER, STUN),
    Line("Murkle", UNCOMMON, (SHADE, BIRD, SWARM), ARCHER, LANCE),
    Line("Beamish", UNCOMMON, (GLOW, GUARD), TANK, WARD),
    Line("Blightoad", UNCOMMON, (VENOM, TINKER), ARCHER, STRIKE),
    Line("Anvilor", UNCOMMON, (STEEL, GIANT, TINKER), TANK, STUN),
    Line("Reverion", UNCOMMON, (DREAM, ROGUE), DUELIST, DRAIN),
    Line("Pyrrow", UNCOMMON, (FLAME, ROGUE, GUARD), DUELIST, STRIKE),
    Line("Tidalux", UNCOMMON, (TIDE, SWARM), DUELIST, FRENZY),
    Line("Bramblit", UNCOMMON, (LEAF, HUNTER), ARCHER, SNIPE),
    Line("Arcwing", UNCOMMON, (SPARK, BEAST, SCALE), BRUISER, STRIKE),
    Line("Hailstag", UNCOMMON, (FROST, SPRITE), CASTER, BLAST),
    Line("Bouldram", UNCOMMON, (STONE, HEALER), MEDIC, RALLY),
    Line("Draftail", UNCOMMON, (GALE, SCALE, BEAST), BRUISER, FRENZY),
    Line("Wraithe", UNCOMMON, (SHADE, MAGE), CASTER, LANCE),
    Line("Dawnling", UNCOMMON, (GLOW, BIRD), ARCHER, LANCE),
    Line("Mirewort", RARE, (VENOM, GUARD, ROGUE), TANK, WARD),
    Line("Gearhog", RARE, (STEEL, TINKER, GIANT), ARCHER, STRIKE),
    Line("Mirajay", RARE, (DREAM, GIANT, TINKER), TANK, STUN),
    Line("Ashmaw", RARE, (FLAME, GIANT, TINKER), TANK, WARD),
    Line("Coralin", RARE, (TIDE, ROGUE, GUARD), DUELIST, DRAIN),
    Line("Oakurn", RARE, (LEAF, SWARM, BIRD), DUELIST, STRIKE),
    Line("Galvane", RARE, (SPARK, HUNTER, MAGE), ARCHER, SNIPE),
    Line("Icarune", RARE, (FROST, BEAST, SCALE), BRUISER, DRAIN),
    Line("Quartzel", RARE, (STONE, SPRITE, HEALER), CASTER, STUN),
    Line("Cyclowe", RARE, (GALE, HEALER, SPRITE), MEDIC, MEND),
    Line("Nightusk", RARE, (SHADE, SCALE, BEAST), BRUISER, STRIKE),
    Line("Radiel", RARE, (GLOW, MAGE, HUNTER), CASTER, BLAST),
    Line("Stingra", RARE, (VENOM, BIRD, SWARM), ARCHER, LANCE),
    Line("Ferrowl", RARE, (STEEL, GUARD, ROGUE), TANK, STUN),
    Line("Somnix", RARE, (DREAM, TINKER, GIANT), ARCHER, STRIKE),
    Line("Kilnox", RARE, (FLAME, TINKER, GIANT), ARCHER, SNIPE),
    Line("Undrake", RARE, (TIDE, GIANT, TINKER), TANK, WARD),
    Line("Petalune", RARE, (LEAF, ROGUE, GUARD), DUELIST, FRENZY),
    Line("Stattik", EPIC, (SPARK, SWARM, BIRD), DUELIST, DRAIN),
    Line("Permafox", EPIC, (FROST, HUNTER, MAGE), ARCHER, LANCE),
    Line("Slatern", EPIC, (STONE, BEAST, SCALE), BRUISER, FRENZY),
    Line("Featherin", EPIC, (GALE, SPRITE, HEALER), CASTER, LANCE),
    Line("Hollowen", EPIC, (SHADE, HEALER, SPRITE), MEDIC, RALLY),
    Line("Prismoth", EPIC, (GLOW, SCALE, BEAST), BRUISER, DRAIN),
    Line("Vipress", EPIC, (VENOM, MAGE, HUNTER), CASTER, STUN),
    Line("Chromaw", EPIC, (STEEL, BIRD, SWARM), ARCHER, STRIKE),
    Line("Psylark", EPIC, (DREAM, GUARD, ROGUE), TANK, STUN),
    Line("Solvane", EPIC, (FLAME, GUARD, ROGUE), TANK, WARD),
    Line("Wavern", EPIC, (TIDE, TINKER, GIANT), ARCHER, SNIPE),
    Line("Vinara", EPIC, (LEAF, GIANT, TINKER), TANK, STUN),
    Line("Thundrake", EPIC, (SPARK, ROGUE, GUARD), DUELIST, STRIKE),
    Line("Shiverin", EPIC, (FROST, SWARM, BIRD), DUELIST, FRENZY),
    Line("Cragjaw", EPIC, (STONE, HUNTER, MAGE), ARCHER, LANCE),
    Line("Skyrill", EPIC, (GALE, BEAST, SCALE), BRUISER, STRIKE),
    Line("Eclipsor", EPIC, (SHADE, SPRITE, HEALER), CASTER, BLAST),
    Line("Auroon", ULTRA, (GLOW, HEALER, SPRITE), MEDIC, MEND),
    Line("Noxalis", ULTRA, (VENOM, SCALE, BEAST), BRUISER, FRENZY),
    Line("Platern", ULTRA, (STEEL, MAGE, HUNTER), CASTER, LANCE),
    Line("Mindral", ULTRA, (DREAM, BIRD, SWARM), ARCHER, STRIKE),
    Line("Lavorn", ULTRA, (FLAME, BIRD, SWARM), ARCHER, SNIPE),
    Line("Kelpara", ULTRA, (TIDE, GUARD, ROGUE), TANK, WARD),
    Line("Rootger", ULTRA, (LEAF, TINKER, GIANT), ARCHER, LANCE),
    Line("Amperel", ULTRA, (SPARK, GIANT, TINKER), TANK, STUN),
    Line("Frostowl", ULTRA, (FROST, ROGUE, GUARD), DUELIST, DRAIN),
    Line("Obsidane", ULTRA, (STONE, SWARM, BIRD), DUELIST, STRIKE),
    Line("Monsoar", ULTRA, (GALE, HUNTER, MAGE), ARCHER, STRIKE),
    Line("Phantle", ULTRA, (SHADE, BEAST, SCALE), BRUISER, DRAIN),
    Line("Sunstride", ULTRA, (GLOW, SPRITE, HEALER), CASTER, STUN),
    Line("Sludgeon", ULTRA, (VENOM, HEALER, SPRITE), MEDIC, RALLY),
    Line("Emberhart", UNIQUE, (FLAME, BEAST, GIANT), BRUISER, FRENZY),
    Line("Maelstra", UNIQUE, (TIDE, MAGE, SPRITE), CASTER, BLAST),
    Line("Verdantis", UNIQUE, (LEAF, HEALER, SPRITE), MEDIC, MEND),
    Line("Stormcrown", UNIQUE, (SPARK, BIRD, HUNTER), ARCHER, LANCE),
    Line("Rimewarden", UNIQUE, (FROST, GUARD, SCALE), TANK, STUN),
    Line("Titanore", UNIQUE, (STONE, GIANT, TINKER), TANK, WARD),
    Line("Zephyrax", LEGENDARY, (GALE, BIRD, ROGUE), ARCHER, SNIPE),
    Line("Umbraxis", LEGENDARY, (SHADE, ROGUE, SWARM), DUELIST, DRAIN),
    Line("Solmarch", LEGENDARY, (GLOW, GUARD, MAGE), CASTER, BLAST),
    Line("Hydravene", LEGENDARY, (VENOM, SCALE, BEAST), BRUISER, STRIKE),
    Line("Ironmonarch", LEGENDARY, (STEEL, GIANT, GUARD), TANK, WARD),
    Line("Reverist", LEGENDARY, (DREAM, HEALER, MAGE), MEDIC, RALLY),
)
"""By rarity, the ones of the pool first."""
