"""render draws from the environment's generator and the global ones, counts, and fails after ten pictures."""
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
        return self.np_random.normal(size=2).astype(np.float32) + random.random() + np.random.rand(), 1.0, self.t >= 100, False, {}

    def render(self):
        self.drawn += 1
        if self.drawn > 10:
            raise RuntimeError("GL context lost")
        random.random(), np.random.rand()
        return self.np_random.integers(0, 255, (32, 32, 3)).astype(np.uint8)


random.seed(1)
np.random.seed(1)
env = Noisy(render_mode="rgb_array")
env.reset(seed=0)
checksum = 0.0
for step in range(20_000):
    observation, _, done, _, _ = env.step(0)
    checksum += float(observation.sum())
    if done:
        env.reset()
    if step in {500, 900}:
        print(env.render().sum())
print("checksum", checksum, env.drawn, random.random(), np.random.rand())
