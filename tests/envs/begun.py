"""Environments that have begun, without a backend."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from pac.envs import Task, allocate, find
from pac.envs.actions import random_actions
from pac.envs.driver import NativeEnvironments
from pac.envs.fields import Array


def begun(spec: Task | str, num_envs: int = 2, slots: int = 1, *, seed: int = 3):
    """Return a task, its buffers and its environments, begun."""
    task = find(spec) if isinstance(spec, str) else spec
    buffers = allocate(task, num_envs, slots)
    environments = task.make(0, num_envs, buffers, seed)
    environments.reset(np.ones(num_envs, np.bool_), 0)
    return task, buffers, environments


def legal_actions(task: Task, buffers: Mapping[str, Array], slot: int, random: np.random.Generator) -> Array:
    """Return a random legal action for each row of a slot."""
    mask = None
    if task.masked:
        item = next(item for item in task.fields if item.name == "action_mask")
        mask = item.decode(buffers["action_mask"][slot]).astype(np.bool_)
    return random_actions(task, random.random((buffers["action"].shape[1], task.num_actions)), mask)


def compare(task: Task, buffers: Mapping[str, Array], env: int, expected: dict[str, Any]) -> None:
    """Compare an environment's part of fields with what it should be."""
    fields = {item.name: item for item in task.fields}
    for name, value in expected.items():
        found = fields[name].decode(buffers[name][0])
        rows = found.reshape(-1, task.players, *found.shape[1:]) if fields[name].per == "seat" else found
        rows = rows[env].reshape(np.shape(value)) if fields[name].per == "seat" else rows[env]
        assert np.array_equal(rows, np.asarray(value, rows.dtype)), (name, env)


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
