"""Random search with an AsyncVectorEnv, whose environments are other processes."""

import gymnasium as gym
import numpy as np
from tensorboardX import SummaryWriter

ENVS, ROUNDS = 4, 20


def make_env():
    """Make an environment."""
    return gym.make("Acrobot-v1", max_episode_steps=100)


if __name__ == "__main__":
    writer = SummaryWriter("runs/async")
    envs = gym.vector.AsyncVectorEnv([make_env] * ENVS, context="fork")
    random = np.random.default_rng(1)
    best, best_return = np.zeros((6, 3)), -np.inf
    for number in range(ROUNDS):
        weights = best + random.normal(size=(ENVS, 6, 3))
        observations, _ = envs.reset(seed=1)
        returns = np.zeros(ENVS)
        for _ in range(100):
            actions = np.einsum("ni,nij->nj", observations, weights).argmax(1)
            observations, rewards, *_ = envs.step(actions)
            returns += rewards
        if returns.max() > best_return:
            best, best_return = weights[returns.argmax()], returns.max()
        writer.add_scalar("search/best", best_return, number)
    print("weights", best.sum(), best_return)
    envs.close()
