"""An environment whose observation is always NaN."""

import gymnasium
import numpy as np


class Nowhere(gymnasium.Env):
    """Observes NaN in an episode without end."""

    observation_space = gymnasium.spaces.Box(-1.0, 1.0, (3,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        """Start an episode."""
        super().reset(seed=seed, options=options)
        return np.full(3, np.nan, np.float32), {}

    def step(self, action):
        """Return NaN."""
        del action
        return np.full(3, np.nan, np.float32), 0.0, False, False, {}
