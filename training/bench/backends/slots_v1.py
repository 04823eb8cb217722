"""Compares the buffer with the layout of version 1: one slot of 5,120 bytes per environment.

In slots, the observations of a batch are 5,120 bytes apart, so a learner gathers every field at every step. By field,
they are already one block in the rollout that it learns from.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from statistics import median

import numpy as np
from numpy.typing import NDArray

from ....envs import Environments, Task, allocate, find
from ....envs.fields import Array
from ..facts import Figures, Progress
from ..turns import alternate
from .rates import SLOTS

SLOT = np.dtype(
    [
        *((name, "<u4") for name in ("action_ready", "result_ready", "command")),
        *(("action", "<i4"), ("reward", "<f4"), ("done", "u1"), ("rank", "u1")),
        *((name, "<u2") for name in ("life", "money", "stage")),
        *((name, "u1") for name in ("board_size", "level", "synergy_count", "items_held")),
        *(("observation", "<f4", (612,)), ("action_mask", "u1", (92,)), ("unused", "u1", (2548,))),
    ]
)
GATHERED = {"observation": "observation", "action_mask": "action_mask", "reward": "reward", "terminated": "done"}
"""Fields that a learner reads at every step, with their names in a slot."""
COUNTS = (1, 8, 32, 64)
ROUNDS = 15


class Slots:
    """N slots in private memory.

    Attributes:
        slots: `(N,)` records of the dtype `SLOT`.
    """

    def __init__(self, num_envs: int) -> None:
        self.slots = np.zeros(num_envs, SLOT)

    def buffers(self, task: Task) -> dict[str, Array]:
        """Return arrays for the environments of `task`; fields without a place in a slot are separate arrays.

        The bits of the mask are in its first bytes.
        """
        found = allocate(task, len(self.slots))
        for ours, theirs in GATHERED.items():
            stored = self.slots[theirs][None]
            found[ours] = stored[..., : found[ours].shape[2]] if stored.ndim > 2 else stored
        return found


def compare_layouts(progress: Progress, steps: int) -> Figures:
    """Fill rollouts with steps of `noop`, alternately gathered from slots and written in place.

    Args:
        progress: Called with the current measurement.
        steps: Steps of each layout at each N, in 15 rounds.

    Returns:
        `rows`: `num_envs`, the medians `slots_us` and `fields_us` per step of all environments, and `gather_us`, their
        difference.
    """
    rows = []
    for index, num_envs in enumerate(COUNTS):
        progress(f"slots and fields, N={num_envs}", index / len(COUNTS))
        sides = {"slots_us": _from_slots(num_envs), "fields_us": _in_place(num_envs)}
        times = alternate({side: partial(_timed, step, steps // ROUNDS) for side, step in sides.items()}, ROUNDS)
        middle = {side: median(found) for side, found in times.items()}
        rows.append({"num_envs": num_envs, **middle, "gather_us": middle["slots_us"] - middle["fields_us"]})
    return {"rows": rows}


def gather(slots: NDArray[np.void], rollout: dict[str, Array], slot: int) -> None:
    """Copy the learner's fields from `slots` into `slot` of a rollout."""
    for ours, theirs in GATHERED.items():
        target = rollout[ours][slot]
        target[...] = slots[theirs][..., : target.shape[1]] if target.ndim > 1 else slots[theirs]


def _begun(task: Task, num_envs: int, buffers: dict[str, Array]) -> Environments:
    environments = task.make(0, num_envs, buffers, 0)
    environments.reset(np.ones(num_envs, np.bool_), 0)
    return environments


def _from_slots(num_envs: int) -> Callable[[int], None]:
    """Return a function that makes step `index` in slots, and gathers its results."""
    task, memory = find("noop"), Slots(num_envs)
    environments, rollout = _begun(task, num_envs, memory.buffers(task)), allocate(task, num_envs, SLOTS)

    def step(index: int) -> None:
        environments.step(0)
        gather(memory.slots, rollout, 1 + index % (SLOTS - 1))

    return step


def _in_place(num_envs: int) -> Callable[[int], None]:
    """Return a function that makes step `index` in the rollout."""
    task = find("noop")
    rollout = allocate(task, num_envs, SLOTS)
    environments = _begun(task, num_envs, rollout)
    return lambda index: environments.step(index % (SLOTS - 1))


def _timed(step: Callable[[int], None], count: int) -> float:
    """Return the microseconds per step."""
    begun = time.perf_counter()
    for index in range(count):
        step(index)
    return 1e6 * (time.perf_counter() - begun) / count
