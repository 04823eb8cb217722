"""A vector environment of its own with 256 rows, reward terms and a reused buffer."""
import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode

N = 256


class Rows(gym.vector.VectorEnv):
    metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}
    num_envs = N
    single_observation_space = gym.spaces.Box(-99, 99, (6,))
    single_action_space = gym.spaces.Box(-1, 1, (2,))
    observation_space = gym.vector.utils.batch_space(single_observation_space, N)
    action_space = gym.vector.utils.batch_space(single_action_space, N)

    def reset(self, *, seed=None, options=None):
        self.rng = np.random.default_rng(seed)
        self.x, self.age = np.zeros((N, 6), np.float32), np.zeros(N, int)
        return self.x, {}

    def step(self, actions):
        self.x[:, :2] += actions
        self.x += self.rng.normal(size=self.x.shape)
        self.age += 1
        terms = {f"reward_{name}": self.rng.normal(size=N) for name in "abc"}
        over = self.age >= 50 + np.arange(N) % 30
        self.x[over], self.age[over] = 0, 0
        return self.x, sum(terms.values()), over, np.zeros(N, bool), terms


envs, total = Rows(), 0.0
observations, _ = envs.reset(seed=0)
for _ in range(6_000):
    observations, rewards, *_ = envs.step(np.tanh(observations[:, 2:4]))
    total += float(rewards.sum())
print(total, float(observations.sum()))
