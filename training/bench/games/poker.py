"""Hands per second on one core."""

from __future__ import annotations

import numpy as np

from ....envs.fields import Array
from ....envs.native import below
from ....envs.poker.compiled import compiled
from ....envs.poker.driver import PokerEnvironments
from ....envs.poker.kernels import step_envs
from ....envs.poker.layout import NODE, PLAYERS
from ....envs.poker.views import views
from ....envs.registry import find
from ....envs.task import allocate
from .rates import median_rate

ENVIRONMENTS = 16
BATCH = 200


@compiled
def play(table: Array, num_envs: int, steps: int, random: Array) -> int:
    """Take random legal actions in all hands; return the number of finished hands."""
    v, r, _ = views(table)
    hands = 0
    for _ in range(steps):
        for env in range(num_envs):
            node = v.state[env, NODE]
            edge = r.first[node] + below(random, 0, r.degree[node])
            v.common.action[0, env * PLAYERS + r.player[node]] = r.number[edge]
        step_envs(table, 0, num_envs, 0, 0)
        for env in range(num_envs):
            hands += v.common.terminated[0, env * PLAYERS]
    return hands


def hands_per_second(spec: str = "holdem", seconds: float = 1.0) -> float:
    """Return hands per second of one thread with random legal actions; masks, observations and boards included.

    Args:
        spec: The task and its parameters.
        seconds: CPU time of the measurement, without compilation.
    """
    task = find(spec)
    hands = PokerEnvironments(task, 0, ENVIRONMENTS, allocate(task, ENVIRONMENTS), 0)
    hands.reset(np.ones(ENVIRONMENTS, np.bool_), 0)
    random = np.zeros(1, np.int64)
    return median_rate(lambda: play(hands.table, ENVIRONMENTS, BATCH, random), seconds)
