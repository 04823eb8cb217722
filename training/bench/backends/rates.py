"""Measures the speed of backends, alone and relative to Gymnasium's AsyncVectorEnv."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from itertools import cycle
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ....backends.factory import make
from ....envs import Task
from ....envs.actions import random_actions
from ..facts import Results, ratios_of
from ..turns import alternate, rate_of

if TYPE_CHECKING:
    from ....backends.core.base import Backend

SLOTS = 65
"""Slots of a rollout of 64 steps."""
TASK, NUM_ENVS, WORKERS, SECONDS = "drmario", 16, 2, 1.0
"""What `async_ratio` measures, and the length of each measurement."""
KEYS = 64
"""Number of sets of random keys, drawn once and used in turn, so that drawing is not measured."""


class RandomLegal:
    """Draws random legal actions in a few microseconds per step.

    Each action has a random key, which changes at every step; the legal action with the highest key is taken. Actions
    that are not a single number are drawn one by one.
    """

    def __init__(self, task: Task, rows: int, *, seed: int = 0) -> None:
        self._generator = generator = np.random.default_rng(seed)
        self._keys = generator.integers(1, 256, (KEYS, rows, task.num_actions), np.uint8)
        self._plain = self._keys.argmax(axis=2)
        self._masked = task.masked
        self._turn = 0

    def __call__(self, backend: Backend, slot: int) -> None:
        """Write one action per row into `slot`."""
        self._turn = turn = (self._turn + 1) % KEYS
        legal = None
        if self._masked:
            masks = backend.buffer["action_mask"][slot]
            legal = np.unpackbits(masks, axis=-1, count=self._keys.shape[2], bitorder="little")
        if backend.task.action.shape:
            flags = None if legal is None else legal.view(np.bool_)
            uniform = self._generator.random((backend.rows, backend.task.num_actions))
            backend.buffer["action"][slot] = random_actions(backend.task, uniform, flags)
        else:
            backend.buffer["action"][slot] = (
                self._plain[turn] if legal is None else (legal * self._keys[turn]).argmax(axis=1)
            )


def async_ratio(*, rounds: int) -> Results:
    """Compare `shm` with Gymnasium's AsyncVectorEnv on the same environments with random legal actions.

    Returns:
        `ratio`, `ratio_min` and `ratio_max`: median and extremes of the ratios of pairs that are measured one after the
        other; `shm_sps` and `async_sps`, the median environment steps per second.
    """
    from gymnasium.vector import AsyncVectorEnv

    from ....envs.gym.single import TaskEnv

    with (
        closing(make(TASK, NUM_ENVS, "shm", workers=WORKERS, slots=SLOTS)) as envs,
        closing(AsyncVectorEnv([lambda: TaskEnv(TASK)] * NUM_ENVS, context="spawn")) as peer,
    ):
        step_peer = _peer_stepper(peer)
        rates = alternate({"async": lambda: rate_of(step_peer, SECONDS), "shm": lambda: _rate(envs)}, rounds)
    return {
        "num_envs": NUM_ENVS,
        "workers": WORKERS,
        "task": TASK,
        **ratios_of(rates["shm"], rates["async"]),
        **{f"{side}_sps": round(median(found)) for side, found in rates.items()},
        "rounds": rounds,
    }


def _rate(envs: Backend) -> float:
    """Restart all episodes, and step with random actions; return the steps per second."""
    envs.start()
    return rate_of(random_stepper(envs), SECONDS)


def random_stepper(envs: Backend) -> Callable[[], int]:
    """Return a function that steps with random legal actions once, and returns the number of environments."""
    choose, order = RandomLegal(envs.task, envs.rows), envs.order

    def step() -> int:
        if order.full:
            envs.carry()
        choose(envs, order.newest)
        envs.advance(order.newest)
        return envs.environments

    return step


def _peer_stepper(peer: Any) -> Callable[[], int]:
    """Return a function that steps a Gymnasium vector environment with random legal actions once."""
    _, infos = peer.reset(seed=0)
    masks: NDArray[np.bool_] = infos["action_mask"]
    keys = cycle(np.random.default_rng(0).integers(1, 256, (KEYS, *masks.shape), np.uint8))

    def step() -> int:
        nonlocal masks
        masks = peer.step((masks * next(keys)).argmax(axis=1))[4]["action_mask"]
        return NUM_ENVS

    return step
