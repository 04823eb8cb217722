"""Q-learning with a network, a single environment and one for evaluation, in one file."""

import random

import gymnasium as gym
import torch
from torch import nn
from torch.utils.tensorboard import SummaryWriter

STEPS, GAMMA = 2_000, 0.99

random.seed(1)
torch.manual_seed(1)
writer = SummaryWriter("runs/dqn")
env = gym.wrappers.RecordEpisodeStatistics(gym.make("CartPole-v1"))
eval_env = gym.make("CartPole-v1")
env.action_space.seed(1)
network = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 2))
optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)


def evaluate(seed):
    """Return the return of an episode without exploration."""
    observation, _ = eval_env.reset(seed=seed)
    total, over = 0.0, False
    while not over:
        with torch.no_grad():
            action = int(network(torch.as_tensor(observation)).argmax())
        observation, reward, terminated, truncated, _ = eval_env.step(action)
        total, over = total + reward, terminated or truncated
    return total


observation, _ = env.reset(seed=1)
for step in range(STEPS):
    values = network(torch.as_tensor(observation))
    explores = random.random() < max(0.05, 1 - step / 1000)
    action = env.action_space.sample() if explores else int(values.argmax())
    observation, reward, terminated, truncated, info = env.step(action)
    with torch.no_grad():
        wanted = reward + GAMMA * network(torch.as_tensor(observation)).max() * (not terminated)
    loss = nn.functional.mse_loss(values[action], wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    writer.add_scalar("losses/td_loss", loss, step)
    if terminated or truncated:
        writer.add_scalar("charts/episodic_return", info["episode"]["r"], step)
        observation, _ = env.reset()
    if step % 1000 == 999:
        writer.add_scalar("eval/return", evaluate(step), step)
print("weights", sum(part.double().sum().item() for part in network.parameters()))
env.close()
