"""A gymnasium.Env that is a batch, with NumPy arrays that it reuses; a vector environment that returns lists."""
import gymnasium as gym
import numpy as np


class Batched(gym.Env):
    num_envs = 4
    observation_space = gym.spaces.Box(-1, 1, (4, 3))
    action_space = gym.spaces.Box(-1, 1, (4, 1))

    def __init__(self):
        self.buffer = np.zeros((4, 3), np.float32)

    def reset(self, *, seed=None, options=None):
        self.t = np.zeros(4)
        self.buffer[:] = 0
        return self.buffer, {}

    def step(self, actions):
        self.t += 1
        over = self.t >= 20 + np.arange(4)
        self.t[over] = 0
        self.buffer += 0.01 * actions
        return self.buffer, self.buffer.sum(1), over, np.zeros(4, bool), {"final": over.copy()}


class Lists(gym.vector.VectorEnv):
    num_envs = 2
    single_observation_space = observation_space = gym.spaces.Box(-1, 1, (1,))
    single_action_space = action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        self.t = 0
        return [[0.0], [1.0]], {}

    def step(self, actions):
        self.t += 1
        return [[self.t / 99], [1.0]], [1.0, 2], [self.t % 9 == 0, False], [False, False], {"list": [1, 2]}


rng = np.random.default_rng(0)
env, total = Batched(), 0.0
env.reset()
for _ in range(300):
    observation, reward, over, _, info = env.step(rng.uniform(-1, 1, (4, 1)))
    total += float(reward.sum()) + int(over.sum())
print(total, observation.tolist(), observation is env.buffer)
envs = Lists()
envs.reset()
print([envs.step([0, 1])[:3] for _ in range(20)][-3:])
