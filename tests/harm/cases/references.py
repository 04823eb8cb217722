"""How many references its observations and infos have, and whether they are freed when it has dropped them."""
import sys
import weakref
import gymnasium as gym
import numpy as np


class Array(np.ndarray):
    pass


class Walk(gym.Env):
    observation_space = gym.spaces.Box(-1, 1, (1,))
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        return np.zeros(1, np.float32).view(Array), {}

    def step(self, action):
        return np.zeros(1, np.float32).view(Array), 1.0, False, False, {"array": np.ones(3).view(Array)}


env = Walk()
env.reset()
for _ in range(20):
    observation, *_, info = env.step(0)
    counts = sys.getrefcount(observation), sys.getrefcount(info["array"]), sys.getrefcount(info)
print(counts)
seen, array = weakref.ref(observation), weakref.ref(info["array"])
del observation, info
print(seen() is None, array() is None)
