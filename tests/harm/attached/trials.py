"""A study of ten trials, each with new environments."""
import gymnasium as gym
import numpy as np

for number in range(10):
    rng = np.random.default_rng(number)
    envs = gym.make_vec("CartPole-v1", num_envs=int(rng.integers(1, 5)), vectorization_mode="sync")
    envs.reset(seed=number)
    total = sum(float(envs.step(rng.integers(2, size=envs.num_envs))[0].sum()) for _ in range(1_500))
    envs.close()
    print(number, total, flush=True)
