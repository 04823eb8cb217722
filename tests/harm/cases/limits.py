"""A low recursion limit, a deep stack inside step, a disabled collector, tracemalloc, few open files."""
import gc
import resource
import sys
import tracemalloc
import gymnasium as gym
import numpy as np


class Deep(gym.Env):
    observation_space = gym.spaces.Box(-1, 1, (1,))
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        return np.zeros(1, np.float32), {}

    def step(self, action):
        return np.zeros(1, np.float32), float(self.deep(0)), False, False, {}

    def deep(self, level):
        try:
            return self.deep(level + 1)
        except RecursionError:
            return level


env = Deep()
env.reset()
env.step(0)
sys.setrecursionlimit(200)
print(env.step(0)[1] > 150, env.step(0)[1] > 150)
sys.setrecursionlimit(1000)
gc.disable()
gc.freeze()
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (24, hard))
tracemalloc.start()
cart = gym.make("CartPole-v1")
cart.reset(seed=0)
total = 0.0
for step in range(500):
    observation, reward, terminated, truncated, _ = cart.step(step % 2)
    total += float(observation[1])
    if terminated or truncated:
        cart.reset()
print(total, gc.isenabled(), tracemalloc.is_tracing(), resource.getrlimit(resource.RLIMIT_NOFILE)[0])
