"""Environments whose render draws random numbers, counts, and fails in the end."""
import random
import gymnasium as gym
import numpy as np


class Noisy(gym.Env):
    metadata = {"render_modes": ["rgb_array"], "render_fps": 30}
    observation_space = gym.spaces.Box(-9, 9, (2,))
    action_space = gym.spaces.Discrete(2)

    def __init__(self, render_mode=None):
        self.render_mode, self.drawn = render_mode, 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t = 0
        return np.zeros(2, np.float32), {}

    def step(self, action):
        self.t += 1
        noise = self.np_random.normal(size=2) + random.random() + np.random.rand() + self.drawn
        return noise.astype(np.float32), 1.0, self.t >= 100, False, {}

    def render(self):
        self.drawn += 1
        if self.drawn > 20:
            raise RuntimeError("GL context lost")
        return (self.np_random.integers(0, 255, (32, 32, 3)) * random.random() * np.random.rand()).astype(np.uint8)


random.seed(1)
np.random.seed(1)
envs = gym.vector.SyncVectorEnv([lambda: Noisy("rgb_array")] * 3)
envs.reset(seed=0)
checksum = 0.0
for _ in range(15_000):
    checksum += float(envs.step(np.zeros(3, int))[0].sum())
print(checksum, random.random(), np.random.rand(), envs.get_attr("drawn"))
