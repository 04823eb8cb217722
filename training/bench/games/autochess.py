"""Decisions per second on one core."""

from __future__ import annotations

import numpy as np

from ....envs.autochess.bag import player
from ....envs.autochess.compiled import compiled
from ....envs.autochess.driver import AutochessEnvironments
from ....envs.autochess.kernels import step_envs
from ....envs.autochess.layout import ACTIONS, Ints
from ....envs.autochess.legal import is_legal
from ....envs.autochess.views import views
from ....envs.fields import Array
from ....envs.native import below
from ....envs.registry import find
from ....envs.task import allocate
from .rates import median_rate

ENVIRONMENTS = 16
BATCH = 100


@compiled
def choose(game: Ints, me: int, random: Ints) -> int:
    """Return the first legal action from a random one on."""
    first = below(random, 0, ACTIONS)
    for offset in range(ACTIONS):
        action = (first + offset) % ACTIONS
        if is_legal(game, me, action):
            return action
    return -1


@compiled
def play(table: Array, num_envs: int, steps: int, random: Ints) -> tuple[int, int]:
    """Step all games with random legal actions; return the decisions of active seats and the finished games."""
    v = views(table).seats
    decisions = games = 0
    for _ in range(steps):
        for row in range(num_envs * v.players):
            decisions += v.common.active[0, row]
            v.common.action[0, row] = choose(v.state[row // v.players], player(row % v.players), random)
        step_envs(table, 0, num_envs, 0, 0)
        for env in range(num_envs):
            games += v.common.outcome[0, env] > 0
    return decisions, games


def decisions_per_second(spec: str, seconds: float = 1.0) -> tuple[float, float]:
    """Return decisions and games per second of one thread with random legal actions, fights and observations included.

    A seat that waits for others or has lost makes no decision.

    Args:
        spec: The task and its parameters.
        seconds: CPU time of the measurement, without compilation.
    """
    task = find(spec)
    games = AutochessEnvironments(task, 0, ENVIRONMENTS, allocate(task, ENVIRONMENTS), 0)
    games.reset(np.ones(ENVIRONMENTS, np.bool_), 0)
    random, played = np.zeros(1, np.int64), [0, 0]

    def work() -> int:
        decisions, ended = play(games.table, ENVIRONMENTS, BATCH, random)
        played[0] += decisions
        played[1] += ended
        return decisions

    rate = median_rate(work, seconds)
    return rate, rate * played[1] / played[0]
