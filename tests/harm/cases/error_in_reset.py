"""An exception inside reset, raised from another one."""
import gymnasium as gym
import numpy as np


class Breaks(gym.Env):
    observation_space = gym.spaces.Box(-1, 1, (2,))
    action_space = gym.spaces.Discrete(2)
    resets = 0

    def reset(self, *, seed=None, options=None):
        self.resets += 1
        if self.resets == 3:
            try:
                {}["map"]
            except KeyError as error:
                raise RuntimeError("no map") from error
        return np.zeros(2, np.float32), {}

    def step(self, action):
        return np.zeros(2, np.float32), 1.0, True, False, {}


env = Breaks()
for _ in range(5):
    env.reset(seed=0)
    env.step(1)
