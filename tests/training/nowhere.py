"""An environment that does not know where it is."""

import gymnasium
import numpy as np


class Nowhere(gymnasium.Env):
    """Its observation is never a number, and its episode does not end."""

    observation_space = gymnasium.spaces.Box(-1.0, 1.0, (3,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        """Begin."""
        super().reset(seed=seed, options=options)
        return np.full(3, np.nan, np.float32), {}

    def step(self, action):
        """Go nowhere."""
        del action
        return np.full(3, np.nan, np.float32), 0.0, False, False, {}
