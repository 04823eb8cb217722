"""Scripted agents. Like the policy, they know only what they see, and they draw from the environment's generator.

A forager of the treasure hunt walks to what is worth most per step of its way, and around bones. A hunter of hares
walks to the nearest hare. A hunter of stags walks to the stag that is nearest to it and to another agent together, if
it sees another agent. It attacks when enough agents are next to the stag, and otherwise waits. A bot that sees nothing
to take, and a hunter of stags in one turn of eight, walks towards a goal: a random cell, and another one when it is
there.
"""

from __future__ import annotations

from ..native import below, compiled
from .layout import ACTION_NAMES, COLUMN, GOAL, NOTHING, RANDOM, ROW, STAG
from .rules import DOWN, RIGHT, agent_at, has, is_beside, is_inside, kind_at
from .views import Scene

WAYS = 4
WAIT = ACTION_NAMES.index("wait")
RESTLESS = 8
"""A hunter of stags leaves its stag in one of so many turns, so that hunters do not wait for each other forever."""
ALONE = 1 << 20
"""The distance of other agents if none is seen."""


@compiled
def is_open(s: Scene, row: int, column: int) -> bool:
    """Return whether a bot can walk onto a cell without a loss."""
    if not is_inside(s, row, column) or has(s, s.g.kinds, row, column):
        return False
    kind = kind_at(s, row, column)
    if kind == NOTHING:
        return True
    return kind != STAG if s.g.hunting else s.rewards[kind] >= 0


@compiled
def step_to(s: Scene, agent: int, row: int, column: int) -> int:
    """Return the step towards a cell, along the longer way first; around obstacles, any possible step."""
    me = agent_at(agent)
    down, right = row - s.game[me + ROW], column - s.game[me + COLUMN]
    along_rows = abs(down) > abs(right)
    for turn in range(2):
        if along_rows != (turn == 1):
            action = 0 if down < 0 else 2
            wanted = down != 0
        else:
            action = 3 if right < 0 else 1
            wanted = right != 0
        if wanted and is_open(s, s.game[me + ROW] + DOWN[action], s.game[me + COLUMN] + RIGHT[action]):
            return action
    first = below(s.game, RANDOM, WAYS)
    for turn in range(WAYS):
        action = (first + turn) % WAYS
        if is_open(s, s.game[me + ROW] + DOWN[action], s.game[me + COLUMN] + RIGHT[action]):
            return action
    return first


@compiled
def walk_on(s: Scene, agent: int) -> int:
    """Return the step towards the goal of a bot."""
    me = agent_at(agent)
    if s.game[me + GOAL] == s.game[me + ROW] * s.g.size + s.game[me + COLUMN]:
        s.game[me + GOAL] = below(s.game, RANDOM, s.g.size * s.g.size)
    return step_to(s, agent, s.game[me + GOAL] // s.g.size, s.game[me + GOAL] % s.g.size)


@compiled
def sees(s: Scene, agent: int, other: int) -> bool:
    """Return whether an agent sees another one; it sees itself."""
    me, them = agent_at(agent), agent_at(other)
    down, right = s.game[them + ROW] - s.game[me + ROW], s.game[them + COLUMN] - s.game[me + COLUMN]
    return bool(max(abs(down), abs(right)) <= s.g.sight)


@compiled
def distance_to_others(s: Scene, agent: int, row: int, column: int) -> int:
    """Return the distance of a cell from the nearest other agent that a bot sees."""
    nearest = ALONE
    for other in range(s.g.agents):
        them = agent_at(other)
        if other != agent and sees(s, agent, other):
            nearest = min(nearest, abs(s.game[them + ROW] - row) + abs(s.game[them + COLUMN] - column))
    return nearest


@compiled
def worth(s: Scene, agent: int, row: int, column: int, distance: int) -> float:
    """Return how much a bot wants what is in a cell, at most 0 if it does not want it."""
    kind = kind_at(s, row, column)
    if kind == NOTHING:
        return 0.0
    if not s.g.hunting:
        return float(s.rewards[kind] / distance)
    if kind != s.g.prey:
        return 0.0
    if kind != STAG:
        return 1.0 / distance
    others = distance_to_others(s, agent, row, column)
    return 1.0 / (distance + others) if others < ALONE or s.g.hunters == 1 else 0.0


@compiled
def target_of(s: Scene, agent: int) -> tuple[int, int]:
    """Return the cell in sight that a bot wants most, or `NOTHING` twice."""
    me, sight = agent_at(agent), s.g.sight
    best, most = (NOTHING, NOTHING), 0.0
    row, column = s.game[me + ROW], s.game[me + COLUMN]
    for line in range(max(0, row - sight), min(s.g.size, row + sight + 1)):
        for place in range(max(0, column - sight), min(s.g.size, column + sight + 1)):
            wanted = worth(s, agent, line, place, abs(line - row) + abs(place - column))
            if wanted > most:
                best, most = (line, place), wanted
    return best


@compiled
def attack_of(s: Scene, agent: int, row: int, column: int) -> int:
    """Return the action of a bot next to a stag: to attack, or to wait until it sees enough hunters there."""
    hunters = 0
    for other in range(s.g.agents):
        hunters += is_beside(s, other, row, column) and sees(s, agent, other)
    if hunters < s.g.hunters:
        return WAIT
    me = agent_at(agent)
    if row != s.game[me + ROW]:
        return 0 if row < s.game[me + ROW] else 2
    return 3 if column < s.game[me + COLUMN] else 1


@compiled
def bot_action(s: Scene, agent: int) -> int:
    row, column = target_of(s, agent)
    if row == NOTHING:
        return walk_on(s, agent)
    if not s.g.hunting or s.g.prey != STAG:
        return step_to(s, agent, row, column)
    if s.g.hunters > 1 and below(s.game, RANDOM, RESTLESS) == 0:
        return walk_on(s, agent)
    return attack_of(s, agent, row, column) if is_beside(s, agent, row, column) else step_to(s, agent, row, column)
