"""The kinds of creatures, and the gains of a team with several creatures of one kind: its synergies."""

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
