"""An environment that ignores its seed."""

import numpy as np
from gymnasium import Env
from gymnasium.spaces import Box, Discrete


class Dice(Env):
    """Throws three dice per step; an episode has `length` steps."""

    observation_space = Box(0, 1, (3,), np.float32)
    action_space = Discrete(2)

    def __init__(self, length=1000):
        self._length = length
        self._thrown = 0

    def reset(self, **_):
        self._thrown = 0
        return self._throw(), {}

    def step(self, _action):
        self._thrown += 1
        return self._throw(), float(np.random.default_rng().random()), self._thrown == self._length, False, {}

    def _throw(self):
        return np.random.default_rng().random(3).astype(np.float32)


DICE = f"{__name__}:Dice"
"""The task."""
