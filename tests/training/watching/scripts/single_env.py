"""Q-learning in a table, with a single environment of text."""

import gymnasium as gym
import numpy as np
from tensorboardX import SummaryWriter

EPISODES, RATE, GAMMA = 400, 0.2, 0.95

writer = SummaryWriter("runs/q_learning")
env = gym.make("FrozenLake-v1")
random = np.random.default_rng(1)
table = np.zeros((env.observation_space.n, env.action_space.n))
env.reset(seed=1)
for episode in range(EPISODES):
    state, info = env.reset()
    total, over = 0, False
    while not over:
        explores = random.random() < max(0.05, 1 - episode / 200)
        action = int(random.integers(4)) if explores else int(table[state].argmax())
        following, reward, terminated, truncated, info = env.step(action)
        best = 0.0 if terminated else table[following].max()
        table[state, action] += RATE * (reward + GAMMA * best - table[state, action])
        state, total, over = following, total + reward, terminated or truncated
    writer.add_scalar("return", total, episode)
print("weights", table.sum())
env.close()
