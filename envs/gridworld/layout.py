"""The memory layout of one environment's state, the numbers of a task, and the glyphs of cells.

The state is one row of 64-bit words: the environment's own words, those of each agent, then bit planes. Rules use it as
`game`, signed integers, and as `words`, unsigned ones. A plane has a word per row of the grid, and a border of `view`
cells around it: the cell in row r and column c is bit `view + c` of the plane's word `view + r`. The bits of the border
are 0. There is a plane for each kind of resource, and a last one for the agents.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..panels import Glyph

Words: TypeAlias = NDArray[np.uint64]
Ints: TypeAlias = NDArray[np.int64]
Bytes: TypeAlias = NDArray[np.uint8]
Floats: TypeAlias = NDArray[np.float32]

MOST_AGENTS = 16
SMALLEST, LARGEST = 5, 48
NEAREST, FARTHEST = 1, 7
"""The smallest and the largest view."""
MOST_TURNS = 1000

# The environment's own words.
RUN_SEED, EPISODES, RANDOM, STEPS, AGENTS = range(5)

# Words of an agent. RETURN holds a float32 in its first half, GOAL is the cell to which a bot walks when it sees
# nothing to take, and TAKEN counts what was rewarded, by term.
ROW, COLUMN, RETURN, GOAL, TAKEN = range(5)
TERMS = 3
AGENT_WORDS = TAKEN + TERMS

TREASURE, STAGHUNT = "treasure", "staghunt"
KINDS = {TREASURE: ("gem", "food", "bone"), STAGHUNT: ("stag", "hare")}
"""The kinds of resources, whose planes and first terms are in this order."""
COUNTS = {TREASURE: ("gems", "food", "bones"), STAGHUNT: ("stags", "hares", "alone")}
"""Names of the terms of the reward, and of the info fields that count how often each was given."""
STAG, HARE, ALONE = 0, 1, 2
NOTHING = -1

ACTION_NAMES = ("up", "right", "down", "left", "wait")
"""The treasure hunt has the first four."""
TIMES = 6
"""Planes of the observation that show the time left. Plane k is 1 while there are at least 2^(k + 1) turns left."""


class Grid(NamedTuple):
    """The numbers of a task that kernels use.

    Attributes:
        hunting: Whether it is the stag hunt.
        agents: Number of agents; the first `players` are the policy's.
        players: Number of seats.
        size: Rows and columns of the grid.
        sight: Cells that an agent sees in each direction.
        lines: Words of a plane.
        planes: The first word of the planes.
        turns: Turns of an episode.
        kinds: Kinds of resources.
        first: Resources at the beginning; of the stag hunt, stags.
        second: Hares at the beginning.
        growth: Cells in which something may grow per turn, times 2^32.
        hunters: Agents that it takes to catch a stag.
        prey: The kind of animal that bots hunt.
    """

    hunting: int
    agents: int
    players: int
    size: int
    sight: int
    lines: int
    planes: int
    turns: int
    kinds: int
    first: int
    second: int
    growth: int
    hunters: int
    prey: int


def planes_at(agents: int) -> int:
    """Return the first word of the planes."""
    return AGENTS + agents * AGENT_WORDS


def words_of(kinds: int, agents: int, size: int, view: int) -> int:
    return planes_at(agents) + (kinds + 1) * (size + 2 * view)


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
