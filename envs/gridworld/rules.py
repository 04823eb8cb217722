"""The rules of a turn.

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
from .cells import (
    DOWN,
    RIGHT,
    agent_at,
    count_beside,
    flip,
    free_cell,
    has,
    is_beside,
    is_free,
    is_inside,
    kind_at,
    paint,
    place,
)
from .layout import AGENTS, ALONE, COLUMN, GOAL, HARE, NOTHING, RANDOM, ROW, STAG, STEPS, TAKEN, TERMS
from .looks import AGENT
from .views import Scene

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
    """Give an agent a term's reward."""
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
    """Carry out an agent's action."""
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
