"""Cells of the grid, and the rules of a turn.

Every turn, the agents move in a random order, which is drawn from the environment's generator. All orders are equally
likely. An agent whose target is outside of the grid, or in whose target another agent is at that moment, stays where it
is. So two agents never share a cell, who gets a contested one is a fair draw, and an agent can follow another one that
moved before it.

Treasure hunt: an agent that moves onto a resource takes it. Then `regrowth` times the number of cells are drawn; a
fraction is the probability of one more. If a drawn cell is free, a gem, food or a bone grows there, each with the same
probability.

Stag hunt: an agent that moves onto a hare catches it. An agent that moves towards a stag attacks it and stays where it
is. After all have moved, an attacked stag is caught if at least `hunters` agents are next to it (above, below, left or
right), whether they attacked it or not. All of them get the reward. Otherwise its attackers pay the risk. For every
animal that was caught, another one of its kind appears in a free cell.
"""

from __future__ import annotations

import numpy as np

from ..native import below, compiled, draw, inlined
from .layout import (
    AGENT,
    AGENT_WORDS,
    AGENTS,
    ALONE,
    COLUMN,
    GOAL,
    HARE,
    NOTHING,
    RANDOM,
    ROW,
    STAG,
    STEPS,
    TAKEN,
    TERMS,
)
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


HALF = np.uint64(32)
FRACTION = (1 << 32) - 1


@compiled
def begin(s: Scene, seed: np.uint64) -> None:
    """Begin an episode: place the agents, then the resources."""
    game, g = s.game, s.g
    game[RANDOM] = np.int64(seed)
    game[STEPS] = 0
    for word in range(AGENTS, game.shape[0]):
        game[word] = 0
    for agent in range(g.agents):
        row, column = free_cell(s, 0)
        game[agent_at(agent) + ROW], game[agent_at(agent) + COLUMN] = row, column
        game[agent_at(agent) + GOAL] = row * g.size + column
        flip(s, g.kinds, row, column)
    for _ in range(g.first):
        place(s, STAG if g.hunting else below(game, RANDOM, g.kinds))
    for _ in range(g.second):
        place(s, HARE)


@inlined
def shuffle(s: Scene) -> None:
    """Draw the order in which the agents move."""
    order = s.memory.order
    for rank in range(s.g.agents):
        order[rank] = rank
    for rank in range(s.g.agents - 1, 0, -1):
        other = below(s.game, RANDOM, rank + 1)
        order[rank], order[other] = order[other], order[rank]


@inlined
def earn(s: Scene, agent: int, term: int) -> None:
    s.game[agent_at(agent) + TAKEN + term] += 1
    s.memory.gains[agent, term] += s.rewards[term]


@inlined
def walk(s: Scene, agent: int, row: int, column: int) -> None:
    """Move an agent to a cell without a resource."""
    me, agents = agent_at(agent), s.g.kinds
    old_row, old_column = s.game[me + ROW], s.game[me + COLUMN]
    flip(s, agents, old_row, old_column)
    flip(s, agents, row, column)
    s.game[me + ROW], s.game[me + COLUMN] = row, column
    paint(s, old_row, old_column, 0)
    paint(s, row, column, AGENT + agent)


@inlined
def move(s: Scene, agent: int) -> None:
    me, action = agent_at(agent), s.memory.actions[agent]
    row, column = s.game[me + ROW] + DOWN[action], s.game[me + COLUMN] + RIGHT[action]
    s.memory.attacked[agent] = NOTHING
    if not is_inside(s, row, column) or has(s, s.g.kinds, row, column):
        return
    kind = kind_at(s, row, column)
    if s.g.hunting and kind == STAG:
        s.memory.attacked[agent] = row * s.g.size + column
        return
    if kind != NOTHING:
        flip(s, kind, row, column)
        earn(s, agent, kind)
        s.memory.caught[kind] += 1
    walk(s, agent, row, column)


@inlined
def grow(s: Scene) -> None:
    """Let resources grow."""
    count = s.g.growth >> 32
    if np.int64(draw(s.game, RANDOM) >> HALF) < s.g.growth & FRACTION:
        count += 1
    for _ in range(count):
        row, column = below(s.game, RANDOM, s.g.size), below(s.game, RANDOM, s.g.size)
        kind = below(s.game, RANDOM, s.g.kinds)
        if is_free(s, row, column):
            flip(s, kind, row, column)
            paint(s, row, column, 1 + kind)


@compiled
def attack(s: Scene, agent: int) -> None:
    """Decide the attack of an agent on a stag, unless the stag was caught in this turn."""
    row, column = s.memory.attacked[agent] // s.g.size, s.memory.attacked[agent] % s.g.size
    if not has(s, STAG, row, column):
        return
    if count_beside(s, row, column) < s.g.hunters:
        earn(s, agent, ALONE)
        return
    flip(s, STAG, row, column)
    paint(s, row, column, 0)
    s.memory.caught[STAG] += 1
    for other in range(s.g.agents):
        if is_beside(s, other, row, column):
            earn(s, other, STAG)


@compiled
def hunt(s: Scene) -> None:
    """Decide all attacks, in the order in which the agents moved, and replace what was caught."""
    for rank in range(s.g.agents):
        if s.memory.attacked[s.memory.order[rank]] != NOTHING:
            attack(s, s.memory.order[rank])
    for kind in range(s.g.kinds):
        for _ in range(s.memory.caught[kind]):
            place(s, kind)


@inlined
def play_turn(s: Scene) -> None:
    """Play a turn with the agents' actions, which are in the memory; the rewards are written there."""
    for agent in range(s.g.agents):
        for term in range(TERMS):
            s.memory.gains[agent, term] = 0
    for kind in range(s.g.kinds):
        s.memory.caught[kind] = 0
    shuffle(s)
    for rank in range(s.g.agents):
        move(s, s.memory.order[rank])
    if s.g.hunting:
        hunt(s)
    else:
        grow(s)
    s.game[STEPS] += 1
