"""Cells of the grid: what is in them, what is put into them, and how they are drawn."""

from __future__ import annotations

import numpy as np

from ..native import below, compiled, inlined
from .layout import AGENT_WORDS, AGENTS, COLUMN, NOTHING, RANDOM, ROW, STAG
from .looks import AGENT
from .views import Scene

ONE, NO_BITS = np.uint64(1), np.uint64(0)
DOWN = np.array([-1, 0, 1, 0, 0])
RIGHT = np.array([0, 1, 0, -1, 0])
"""The direction of each action; waiting has none."""


@inlined
def agent_at(agent: int) -> int:
    """Return the first word of an agent."""
    return AGENTS + agent * AGENT_WORDS


@inlined
def has(s: Scene, plane: int, row: int, column: int) -> bool:
    """Return whether a plane has a cell's bit; false outside of the grid, up to `view` cells away."""
    word = s.words[s.g.planes + plane * s.g.lines + s.g.sight + row]
    return bool(word >> np.uint64(s.g.sight + column) & ONE)


@inlined
def flip(s: Scene, plane: int, row: int, column: int) -> None:
    """Change a cell's bit of a plane."""
    s.words[s.g.planes + plane * s.g.lines + s.g.sight + row] ^= ONE << np.uint64(s.g.sight + column)


@inlined
def kind_at(s: Scene, row: int, column: int) -> int:
    """Return the kind of the resource in a cell, or `NOTHING`."""
    for kind in range(s.g.kinds):
        if has(s, kind, row, column):
            return kind
    return NOTHING


@inlined
def is_free(s: Scene, row: int, column: int) -> bool:
    """Return whether there is neither a resource nor an agent in a cell."""
    return kind_at(s, row, column) == NOTHING and not has(s, s.g.kinds, row, column)


@inlined
def is_inside(s: Scene, row: int, column: int) -> bool:
    """Return whether a cell is on the grid."""
    return 0 <= row < s.g.size and 0 <= column < s.g.size


@compiled
def is_beside(s: Scene, agent: int, row: int, column: int) -> bool:
    """Return whether an agent is above, below, left or right of a cell."""
    me = agent_at(agent)
    return bool(abs(s.game[me + ROW] - row) + abs(s.game[me + COLUMN] - column) == 1)


@compiled
def count_beside(s: Scene, row: int, column: int) -> int:
    """Return how many agents are above, below, left or right of a cell."""
    count = 0
    for agent in range(s.g.agents):
        count += is_beside(s, agent, row, column)
    return count


@inlined
def paint(s: Scene, row: int, column: int, code: int) -> None:
    """Draw a cell."""
    s.cells[row * s.g.size + column] = code


@compiled
def draw_grid(s: Scene) -> None:
    """Draw all cells."""
    for row in range(s.g.size):
        for column in range(s.g.size):
            s.cells[row * s.g.size + column] = 1 + kind_at(s, row, column)
    for agent in range(s.g.agents):
        me = agent_at(agent)
        s.cells[s.game[me + ROW] * s.g.size + s.game[me + COLUMN]] = AGENT + agent


@compiled
def free_cell(s: Scene, margin: int) -> tuple[int, int]:
    """Return the first free cell from a random one on, row by row, at least `margin` cells from the grid's edge."""
    side = s.g.size - 2 * margin
    row, column = below(s.game, RANDOM, side), below(s.game, RANDOM, side)
    for _ in range(side * side):
        if is_free(s, margin + row, margin + column):
            break
        column += 1
        if column == side:
            row, column = (row + 1) % side, 0
    return margin + row, margin + column


@compiled
def place(s: Scene, kind: int) -> None:
    """Put a resource into a free cell; stags, which agents surround, not at the grid's edge."""
    row, column = free_cell(s, 1 if s.g.hunting and kind == STAG else 0)
    flip(s, kind, row, column)
    paint(s, row, column, 1 + kind)
