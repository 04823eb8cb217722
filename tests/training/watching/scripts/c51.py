"""A categorical DQN (C51) with a vector environment of one, in one file."""

import random

import gymnasium as gym
import numpy as np
import torch
from tensorboardX import SummaryWriter
from torch import nn

STEPS, BATCH, GAMMA, ATOMS = 1_200, 64, 0.99, 51

random.seed(1)
torch.manual_seed(1)
writer = SummaryWriter("runs/c51")
envs = gym.vector.SyncVectorEnv([lambda: gym.make("CartPole-v1")])
envs.action_space.seed(1)
network, target = (nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 2 * ATOMS)) for _ in range(2))
optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
support = torch.linspace(0.0, 100.0, ATOMS)
width = float(support[1] - support[0])


def distribution(net, observations):
    """Return the probabilities of the returns of each action, `(batch, 2, atoms)`."""
    return net(torch.as_tensor(observations)).view(-1, 2, ATOMS).softmax(-1)


replay = []
observations, _ = envs.reset(seed=1)
for step in range(STEPS):
    if random.random() < max(0.05, 1 - step / 1000):
        actions = envs.action_space.sample()
    else:
        with torch.no_grad():
            actions = (distribution(network, observations) * support).sum(-1).argmax(1).numpy()
    following, rewards, terminated, truncated, _ = envs.step(actions)
    replay.append(
        (observations[0].copy(), int(actions[0]), float(rewards[0]), following[0].copy(), bool(terminated[0]))
    )
    observations = following
    if step >= 500 and step % 4 == 0:
        states, chosen, gained, nexts, ends = zip(*random.sample(replay, BATCH), strict=True)
        with torch.no_grad():
            following_probs = distribution(target, np.stack(nexts))
            best = (following_probs * support).sum(-1).argmax(1)
            probs = following_probs[torch.arange(BATCH), best]
            alive = ~torch.tensor(ends)[:, None]
            places = ((torch.tensor(gained)[:, None] + GAMMA * support * alive).clamp(0, 100) / width).clamp(
                0, ATOMS - 1
            )
            low, high = places.floor().long(), places.ceil().long()
            wanted = torch.zeros(BATCH, ATOMS)
            wanted.scatter_add_(1, low, probs * (high.float() - places + (low == high)))
            wanted.scatter_add_(1, high, probs * (places - low.float()))
        found = distribution(network, np.stack(states))[torch.arange(BATCH), torch.tensor(chosen)]
        loss = -(wanted * (found + 1e-8).log()).sum(-1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        writer.add_scalar("losses/loss", loss.item(), step)
    if step % 250 == 0:
        target.load_state_dict(network.state_dict())
print("weights", sum(part.double().sum().item() for part in network.parameters()))
envs.close()
