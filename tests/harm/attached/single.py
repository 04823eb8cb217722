"""A single environment of its own with an evaluation environment in between."""
import gymnasium as gym
import numpy as np


class Walk(gym.Env):
    observation_space = gym.spaces.Box(-99, 99, (2,))
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x = self.np_random.normal(size=2)
        return self.x.astype(np.float32), {}

    def step(self, action):
        self.x = self.x * 0.95 + self.np_random.normal(size=2) + action
        return self.x.astype(np.float32), float(self.x[0]), bool(self.x[1] > 6), False, {"norm": float(self.x @ self.x)}


env, eval_env, total = Walk(), Walk(), 0.0
env.reset(seed=1)
for step in range(60_000):
    _, reward, over, _, info = env.step(step % 3 == 0)
    total += reward + info["norm"]
    if over:
        env.reset()
    if step % 20_000 == 19_999:
        eval_env.reset(seed=2)
        total += sum(eval_env.step(1)[1] for _ in range(1_000))
print(total, env.x.tolist())
