"""A Gymnasium environment that only takes time. It imports nothing from pac-tui, so any peer can run it."""

from __future__ import annotations

import math
import time
from binascii import crc_hqx
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete
from numpy.typing import NDArray

Step = tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]
LENGTH = 1000
BLOCK = bytes(range(128))


class Burn(gymnasium.Env[NDArray[np.float32], np.int64]):
    """Uses CPU time at each step. It has 612 observed numbers, 92 actions, and ends after 1,000 steps.

    It computes a checksum byte by byte. The time is the same in every process, hardly depends on the core's other
    thread and does not use the caches. Adding up numbers varied by a quarter with their addresses, and by half with the
    other thread.

    Args:
        work: Blocks of bytes per step.
        masked: Whether infos contain an action mask, with all actions legal.
    """

    def __init__(self, work: int = 40, masked: bool = True) -> None:
        self.observation_space = Box(-1.0, 1.0, (612,), np.float32)
        self.action_space = Discrete(92)
        self._observation = np.zeros(612, np.float32)
        self._info: dict[str, Any] = {"action_mask": np.ones(92, np.bool_)} if masked else {}
        self._work = range(work)
        self._steps = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start an episode."""
        super().reset(seed=seed, options=options)
        self._steps = 0
        return self._observation, self._info

    def step(self, action: np.int64 | int) -> Step:
        """Compute the checksum; the reward depends on the action."""
        self._steps += 1
        self._observation[0] = (burn(self._work) + int(action)) % 92 / 92
        return self._observation, 1.0, False, self._steps >= LENGTH, self._info


def burn(work: range) -> int:
    """Return the checksum of that many blocks."""
    total = 0
    for _ in work:
        total = crc_hqx(BLOCK, total)
    return total


def work_for(seconds: float) -> int:
    """Return the `work` with which a step of `Burn` takes about `seconds` on this machine."""
    work, best = range(200), math.inf
    for _ in range(50):
        begun = time.perf_counter()
        burn(work)
        best = min(best, time.perf_counter() - begun)
    return max(1, round(len(work) * seconds / best))
