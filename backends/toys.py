"""A Gymnasium environment that only costs time; it needs nothing of ours, so that any peer can run it."""

from __future__ import annotations

import math
import time
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete
from numpy.typing import NDArray

Step = tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]
LENGTH = 1000


class Burn(gymnasium.Env[NDArray[np.float32], np.int64]):
    """Burns processor time at each step: 612 numbers, 92 actions, an end after 1,000 steps.

    It adds up bytes, whose values Python keeps ready: nothing is allocated, and each byte costs the same.

    Args:
        work: How much it burns: so many bytes.
        masked: Whether it tells which actions are legal; all of them are.
    """

    def __init__(self, work: int = 1000, masked: bool = True) -> None:
        self.observation_space = Box(-1.0, 1.0, (612,), np.float32)
        self.action_space = Discrete(92)
        self._observation = np.zeros(612, np.float32)
        self._info: dict[str, Any] = {"action_mask": np.ones(92, np.bool_)} if masked else {}
        self._work = bytes(work)
        self._steps = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin."""
        super().reset(seed=seed, options=options)
        self._steps = 0
        return self._observation, self._info

    def step(self, action: np.int64 | int) -> Step:
        """Burn, and return a number that depends on the action."""
        self._steps += 1
        total = sum(self._work)
        self._observation[0] = (total + int(action)) % 92 / 92
        return self._observation, 1.0, False, self._steps >= LENGTH, self._info


def work_for(seconds: float) -> int:
    """Return the `work` at which a step of `Burn` takes about so long on this machine."""
    count, best = 20_000, math.inf
    work = bytes(count)
    for _ in range(50):
        begun = time.perf_counter()
        sum(work)
        best = min(best, time.perf_counter() - begun)
    return max(1, int(count * seconds / best))
