"""DQN with a single environment and an evaluation environment, in one file."""

import random

import gymnasium as gym
import numpy as np
import torch
from torch import nn
from torch.utils.tensorboard import SummaryWriter

STEPS, BATCH, GAMMA = 4_000, 64, 0.99

random.seed(1)
torch.manual_seed(1)
writer = SummaryWriter("runs/dqn")
env = gym.wrappers.RecordEpisodeStatistics(gym.make("CartPole-v1"))
eval_env = gym.make("CartPole-v1")
env.action_space.seed(1)
network, target = (nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 2)) for _ in range(2))
target.load_state_dict(network.state_dict())
optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
replay = []


def greedy(observation):
    """Return the best action."""
    with torch.no_grad():
        return int(network(torch.as_tensor(observation)[None]).argmax(1)[0])


def evaluate(seed):
    """Return the return of an episode without exploration."""
    observation, _ = eval_env.reset(seed=seed)
    total, over = 0.0, False
    while not over:
        observation, reward, terminated, truncated, _ = eval_env.step(greedy(observation))
        total, over = total + reward, terminated or truncated
    return total


observation, _ = env.reset(seed=1)
for step in range(STEPS):
    explores = random.random() < max(0.05, 1 - step / 2000)
    action = env.action_space.sample() if explores else greedy(observation)
    following, reward, terminated, truncated, info = env.step(action)
    replay.append((observation, action, reward, following, terminated))
    observation = following
    if terminated or truncated:
        writer.add_scalar("charts/episodic_return", info["episode"]["r"], step)
        observation, _ = env.reset()
    if step >= 500 and step % 4 == 0:
        states, actions, rewards, nexts, ends = zip(*random.sample(replay, BATCH), strict=True)
        with torch.no_grad():
            best = target(torch.as_tensor(np.stack(nexts))).amax(1)
        wanted = torch.tensor(rewards, dtype=torch.float32) + GAMMA * best * ~torch.tensor(ends)
        values = network(torch.as_tensor(np.stack(states))).gather(1, torch.tensor(actions)[:, None]).squeeze(1)
        loss = nn.functional.mse_loss(values, wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        writer.add_scalar("losses/td_loss", loss, step)
    if step % 500 == 0:
        target.load_state_dict(network.state_dict())
    if step % 2000 == 1999:
        writer.add_scalar("eval/return", evaluate(step), step)
print("weights", sum(part.double().sum().item() for part in network.parameters()))
env.close()
