"""Environments that have begun, without a backend."""

import numpy as np

from pac.envs import Task, allocate, find


def begun(spec: Task | str, num_envs: int = 2, slots: int = 1, *, seed: int = 3):
    """Return a task, its buffers and its environments, begun."""
    task = find(spec) if isinstance(spec, str) else spec
    buffers = allocate(task, num_envs, slots)
    environments = task.make(0, num_envs, buffers, seed)
    environments.reset(np.ones(num_envs, np.bool_), 0)
    return task, buffers, environments
