"""Environments that have begun, without a backend."""

import numpy as np

from pac.envs import Task, allocate, find
from pac.envs.driver import NativeEnvironments


def begun(spec: Task | str, num_envs: int = 2, slots: int = 1, *, seed: int = 3):
    """Return a task, its buffers and its environments, begun."""
    task = find(spec) if isinstance(spec, str) else spec
    buffers = allocate(task, num_envs, slots)
    environments = task.make(0, num_envs, buffers, seed)
    environments.reset(np.ones(num_envs, np.bool_), 0)
    return task, buffers, environments


def step_by_phases(envs: NativeEnvironments, slot: int) -> list[int]:
    """Step environments over two slots as a GPU does, threads in reverse order; return what the phases returned.

    Environments share the working memory here, so one comes after the other.
    """
    return [
        run(envs.table, env, part, slot, 1 - slot)
        for env in range(envs.lo, envs.hi)
        for run, threads in envs.kernels.phases
        for part in reversed(range(threads))
    ]
