"""Warnings with stacklevels inside step, each shown once per place; warnings of Gymnasium."""
# environment: PYTHONWARNINGS=default
import warnings
import gymnasium as gym
import numpy as np


class Warns(gym.Env):
    observation_space = gym.spaces.Box(-1, 1, (2,))
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        warnings.warn("reset", stacklevel=2)
        return np.zeros(2, np.float32), {}

    def step(self, action):
        for level in (1, 2, 3):
            warnings.warn(f"level {level}", UserWarning, stacklevel=level)
        return np.zeros(2, np.float64), 1.0, False, False, {}


def train(env):
    env.reset(seed=0)
    for _ in range(5):
        env.step(0)


train(Warns())
gym.register("Warns-v0", Warns)
train(gym.make("Warns-v0"))
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    train(Warns())
print([(str(each.message), each.lineno, each.filename.rpartition("/")[2]) for each in seen])
