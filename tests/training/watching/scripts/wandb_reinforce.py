"""REINFORCE with a vector environment of its own, which logs to Weights & Biases."""

import os

import gymnasium as gym
import numpy as np
import torch
import wandb
from torch import nn

ENVS, UPDATES, ROLLOUT = 8, 300, 32
os.environ.setdefault("WANDB_MODE", "offline")


class Walk(gym.vector.VectorEnv):
    """Walk to the right on a line, all environments in one array."""

    def __init__(self, num_envs):
        self.num_envs = num_envs
        self.single_observation_space = gym.spaces.Box(-10, 10, (1,))
        self.single_action_space = gym.spaces.Discrete(2)
        self.observation_space = gym.vector.utils.batch_space(self.single_observation_space, num_envs)
        self.action_space = gym.vector.utils.batch_space(self.single_action_space, num_envs)
        self.over = np.zeros(num_envs, bool)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = np.zeros((self.num_envs, 1), np.float32)
        return self.at.copy(), {}

    def step(self, actions):
        self.at[self.over] = 0
        self.at[~self.over, 0] += np.where(actions, 1, -1)[~self.over]
        ended = np.abs(self.at[:, 0]) >= 10
        rewards = np.where(self.over, 0.0, self.at[:, 0] / 10)
        self.over = ended
        return self.at.copy(), rewards, ended, np.zeros_like(ended), {}


torch.manual_seed(1)
run = wandb.init(project="walk")
envs = Walk(ENVS)
actor = nn.Linear(1, 2)
optimizer = torch.optim.Adam(actor.parameters(), lr=1e-2)
seen, _ = envs.reset(seed=1)
for _ in range(UPDATES):
    log_probs, rewards = [], []
    for _ in range(ROLLOUT):
        policy = torch.distributions.Categorical(logits=actor(torch.as_tensor(seen)))
        actions = policy.sample()
        seen, reward, *_ = envs.step(actions.numpy())
        log_probs.append(policy.log_prob(actions))
        rewards.append(torch.as_tensor(reward, dtype=torch.float32))
    loss = -(torch.stack(log_probs) * torch.stack(rewards)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    wandb.log({"loss": loss.item(), "reward": torch.stack(rewards).mean()})
print("weights", sum(part.double().sum().item() for part in actor.parameters()))
run.finish()
