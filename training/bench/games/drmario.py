"""Placements per second on one core."""

from __future__ import annotations

import numpy as np

from ....envs.drmario.compiled import compiled
from ....envs.drmario.driver import BottleEnvironments
from ....envs.drmario.kernels import step_placements
from ....envs.drmario.layout import ACTIONS, MASK, NO_BITS, Words, signed
from ....envs.drmario.views import views
from ....envs.fields import Array
from ....envs.native import GOLDEN, mixed
from ....envs.registry import find
from ....envs.task import allocate
from .rates import median_rate

ENVIRONMENTS = 16
BATCH = 200


@compiled
def choose(board: Words, random: np.uint64) -> int:
    """Return the first legal placement from a random one on."""
    first = signed(mixed(random) >> np.uint64(55))
    for offset in range(ACTIONS):
        action = (first + offset) & (ACTIONS - 1)
        if board[MASK + (action >> 6)] >> np.uint64(action & 63) & np.uint64(1) != NO_BITS:
            return action
    return -1


@compiled
def play(table: Array, num_envs: int, steps: int, random: Array) -> None:
    """Step all environments with random legal placements."""
    v = views(table)
    for _ in range(steps):
        for env in range(num_envs):
            random[0] += GOLDEN
            v.common.action[0, env] = choose(v.words[env], random[0])
        step_placements(table, 0, num_envs, 0, 0)


def placements_per_second(seconds: float = 1.0, spec: str = "drmario") -> float:
    """Return placements per second of one thread with random legal actions; mask, observation and boards included.

    Args:
        seconds: CPU time of the measurement, without compilation.
        spec: The task and its parameters.
    """
    task = find(spec)
    envs = BottleEnvironments(task, 0, ENVIRONMENTS, allocate(task, ENVIRONMENTS), 0)
    envs.reset(np.ones(ENVIRONMENTS, np.bool_), 0)
    random = np.zeros(1, np.uint64)

    def work() -> int:
        play(envs.table, ENVIRONMENTS, BATCH, random)
        return BATCH * ENVIRONMENTS

    return median_rate(work, seconds)
