"""Measures the rate of one thread."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from time import thread_time

import numpy as np

from ....envs.registry import find
from ....envs.task import allocate
from ..turns import rate_of

RUNS = 5
ENVIRONMENTS = 32
STEPS = 16


def median_rate(work: Callable[[], int], seconds: float) -> float:
    """Return units of work per second, the median of 5 runs. The first call, which may compile, is not counted.

    Seconds are CPU time of the thread, so other programs have little effect.
    """
    work()
    return median(rate_of(work, seconds / RUNS, thread_time) for _ in range(RUNS))


def steps_per_second(spec: str, seconds: float) -> float:
    """Return steps of seats per second of one thread with random actions, with observations written into a rollout.

    Args:
        spec: The task and its parameters, without action masks.
        seconds: CPU time of the measurement, without compilation.
    """
    task = find(spec)
    buffers = allocate(task, ENVIRONMENTS, STEPS + 1)
    environments = task.make(0, ENVIRONMENTS, buffers, 0)
    environments.reset(np.ones(ENVIRONMENTS, np.bool_), 0)
    actions = buffers["action"]
    actions[...] = np.random.default_rng(0).integers(task.num_actions, size=actions.shape)

    def work() -> int:
        for slot in range(STEPS):
            environments.step(slot)
        return STEPS * ENVIRONMENTS * task.players

    return median_rate(work, seconds)
