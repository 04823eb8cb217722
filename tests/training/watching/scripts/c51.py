"""Values as distributions (C51), learned step by step in a vector environment of one, in one file."""

import random

import gymnasium as gym
import torch
from tensorboardX import SummaryWriter
from torch import nn

STEPS, GAMMA, ATOMS = 800, 0.99, 51

random.seed(1)
torch.manual_seed(1)
writer = SummaryWriter("runs/c51")
envs = gym.vector.SyncVectorEnv([lambda: gym.make("CartPole-v1")])
envs.action_space.seed(1)
network = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 2 * ATOMS))
optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
support = torch.linspace(0.0, 100.0, ATOMS)
observations, _ = envs.reset(seed=1)
for step in range(STEPS):
    logits = network(torch.as_tensor(observations)).view(2, ATOMS)
    values = (logits.softmax(-1) * support).sum(-1)
    explores = random.random() < max(0.05, 1 - step / 500)
    actions = envs.action_space.sample() if explores else values.argmax(0, keepdim=True).numpy()
    observations, rewards, terminated, _, _ = envs.step(actions)
    with torch.no_grad():
        probs = network(torch.as_tensor(observations)).view(2, ATOMS).softmax(-1)
        best = probs[(probs * support).sum(-1).argmax()]
        wanted = (float(rewards[0]) + GAMMA * support * (not terminated[0])).clamp(0, 100)
        places = (wanted / (support[1] - support[0])).round().long()
        target = torch.zeros(ATOMS).index_add_(0, places, best)
    loss = -(target * logits[int(actions[0])].log_softmax(-1)).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    writer.add_scalar("losses/loss", loss.item(), step)
print("weights", sum(part.double().sum().item() for part in network.parameters()))
envs.close()
