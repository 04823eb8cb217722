"""An environment with slow steps and resets."""

import time

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete

LENGTH = 5


class Sleeper(gymnasium.Env):
    """Sleeps for `nap` seconds per step, and for `rest` seconds per reset; episodes have five steps."""

    observation_space = Box(0, 1, (1,), np.float32)
    action_space = Discrete(2)

    def __init__(self, nap=0.05, rest=0.0):
        self._nap, self._rest = nap, rest
        self._length = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        time.sleep(self._rest)
        self._length = 0
        return np.zeros(1, np.float32), {}

    def step(self, _action):
        time.sleep(self._nap)
        self._length += 1
        return np.ones(1, np.float32), 1.0, self._length == LENGTH, False, {}


SLEEPER = f"{__name__}:Sleeper"
"""The task."""
