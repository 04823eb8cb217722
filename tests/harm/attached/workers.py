"""AsyncVectorEnv: environments in worker processes."""
import gymnasium as gym
import numpy as np

if __name__ == "__main__":
    envs = gym.vector.AsyncVectorEnv([lambda: gym.make("CartPole-v1")] * 2)
    observations, _ = envs.reset(seed=0)
    total = np.zeros(2)
    for _ in range(6_000):
        observations, rewards, *_ = envs.step((observations[:, 2] > 0).astype(int))
        total += rewards
    print(total.tolist(), observations.tolist())
    envs.close()
