"""An actor-critic with continuous actions and normalized observations, in one file."""

import gymnasium as gym
import numpy as np
import torch
from torch import nn
from torch.distributions import Normal
from torch.utils.tensorboard import SummaryWriter

ENVS, ROLLOUT, UPDATES = 4, 32, 60

torch.manual_seed(1)
writer = SummaryWriter("runs/ppo_continuous")
envs = gym.make_vec("Pendulum-v1", num_envs=ENVS, vectorization_mode="sync")
envs = gym.wrappers.vector.NormalizeObservation(envs)
envs = gym.wrappers.vector.ClipAction(envs)
mean = nn.Sequential(nn.Linear(3, 64), nn.Tanh(), nn.Linear(64, 1))
log_std = nn.Parameter(torch.zeros(1))
critic = nn.Sequential(nn.Linear(3, 64), nn.Tanh(), nn.Linear(64, 1))
optimizer = torch.optim.Adam([*mean.parameters(), log_std, *critic.parameters()], lr=1e-3)
seen, _ = envs.reset(seed=1)
for update in range(UPDATES):
    log_probs, values, rewards = [], [], []
    for _ in range(ROLLOUT):
        inputs = torch.as_tensor(seen, dtype=torch.float32)
        policy = Normal(mean(inputs), log_std.exp())
        actions = policy.sample()
        seen, reward, *_ = envs.step(actions.numpy())
        log_probs.append(policy.log_prob(actions).sum(-1))
        values.append(critic(inputs).squeeze(-1))
        rewards.append(torch.as_tensor(reward / 8, dtype=torch.float32))
    advantages = torch.stack(rewards).flip(0).cumsum(0).flip(0) - torch.stack(values)
    loss = -(torch.stack(log_probs) * advantages.detach()).mean() + advantages.square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    writer.add_scalar("losses/loss", loss.item(), update)
print("weights", sum(part.double().sum().item() for part in mean.parameters()), np.round(seen.sum(), 6))
envs.close()
