"""An environment in whose step a known line takes 60 % of the time."""

import ctypes
from pathlib import Path

import gymnasium
import numpy as np

WORK = 4000


class Hot(gymnasium.Env):
    """Computes: six parts of ten in one line, the others in another function.

    Args:
        stuck: The step from which on native code keeps the GIL for a minute; 0 for none.
    """

    observation_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, stuck=0):
        self._steps, self._stuck = 0, stuck

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        return np.zeros(1, np.float32), {}

    def step(self, _action):
        self._steps += 1
        if self._steps == self._stuck:
            ctypes.PyDLL(None).sleep(60)
        for _ in range(10):
            sum(range(6 * WORK))  # the hot line
            rest()
        return np.zeros(1, np.float32), 1.0, self._steps % 50 == 0, False, {}


def rest():
    """Compute the other four parts."""
    sum(range(2 * WORK))
    sum(range(2 * WORK))


HOT = f"{__name__}:Hot"
"""The task."""
LINE = 1 + next(
    at for at, line in enumerate(Path(__file__).read_text().splitlines()) if line.endswith("# the hot line")
)
