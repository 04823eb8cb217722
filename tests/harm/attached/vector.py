"""A vector environment and a linear policy."""
import gymnasium as gym
import numpy as np

envs = gym.make_vec("CartPole-v1", num_envs=8, vectorization_mode="sync", render_mode="rgb_array")
weights = np.random.default_rng(0).normal(size=4)
observations, _ = envs.reset(seed=0)
total = np.zeros(8)
for _ in range(8_000):
    observations, rewards, *_ = envs.step((observations @ weights > 0).astype(int))
    total += rewards
print(total.tolist(), observations.tolist())
