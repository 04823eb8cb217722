"""The glyphs of cells: grass, resources, and agents in colors of their own."""

from __future__ import annotations

from ..panels import Glyph
from .layout import MOST_AGENTS, STAGHUNT, TREASURE

GRASS, SEEN_GRASS, BLADES = "#17261b", "#22392a", "#2c4a35"
"""The ground, the ground that the selected agent sees, and what grows on it."""
INK = "#10161d"
AGENT_COLORS = (
    *("#f2c14e", "#6cb4ee", "#ef7f9a", "#8fd16f", "#c59cf0", "#f39a5b", "#5fd3c4", "#e8e3d3"),
    *("#d0a15f", "#8c9eff", "#e06c5f", "#b5c94c", "#e38ad6", "#a6b4c2", "#4fb286", "#ffd9a0"),
)
RESOURCES = {
    TREASURE: (("◆ ", "*", "#7fe3ff", "gem"), ("● ", "o", "#e5894a", "food"), ("✕ ", "x", "#c9c4b5", "bone")),
    STAGHUNT: (("♞ ", "S", "#d9a066", "stag"), ("• ", "h", "#d8d4c8", "hare")),
}

SEEN = 64
"""Added to the code of a cell that the selected agent sees."""
AGENT = 4
"""The code of agent 1. Code 0 is grass, then come the kinds of resources."""


def _glyphs(name: str, ground: str) -> tuple[Glyph, ...]:
    grass = Glyph(" .", ".", BLADES, ground)
    resources = [Glyph(wide, narrow, color, ground, label) for wide, narrow, color, label in RESOURCES[name]]
    spare = [grass] * (AGENT - 1 - len(resources))
    return (grass, *resources, *spare, *(_agent(number) for number in range(MOST_AGENTS)))


def _agent(number: int) -> Glyph:
    """Return an agent's glyph: its number in ink on its color; narrow, a digit or a letter after 9."""
    narrow = "123456789ABCDEFG"[number]
    return Glyph(f"{number + 1:>2}", narrow, INK, AGENT_COLORS[number])


def glyphs_of(name: str) -> tuple[Glyph, ...]:
    """Return the glyph of every code of a game: cells out of the selected agent's sight, then those within it."""
    far, near = _glyphs(name, GRASS), _glyphs(name, SEEN_GRASS)
    return (*far, *[far[0]] * (SEEN - len(far)), *near)
