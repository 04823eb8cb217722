"""A policy over Dict observations of an environment that the script registers itself."""

import gymnasium as gym
import numpy as np
import torch
from gymnasium.spaces import Box, Dict, Discrete
from torch import nn
from torch.utils.tensorboard import SummaryWriter

UPDATES, ROLLOUT, ENVS = 30, 32, 4


class Grid(gym.Env):
    """Walk to the goal on a grid of 8 by 8 cells; the observation is a picture and a position."""

    def __init__(self):
        self.observation_space = Dict({"picture": Box(0, 255, (8, 8, 3), np.uint8), "position": Box(0, 1, (2,))})
        self.action_space = Discrete(4)

    def _seen(self):
        picture = np.zeros((8, 8, 3), np.uint8)
        picture[tuple(self.goal)] = (0, 255, 0)
        picture[tuple(self.at)] = (255, 255, 255)
        return {"picture": picture, "position": (self.at / 7).astype(np.float32)}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at, self.goal = self.np_random.integers(8, size=(2, 2))
        return self._seen(), {}

    def step(self, action):
        self.at = np.clip(self.at + ((0, 1), (0, -1), (1, 0), (-1, 0))[action], 0, 7)
        distance = int(np.abs(self.at - self.goal).sum())
        return self._seen(), -0.1, distance == 0, False, {"distance": distance}


gym.register("Grid-v0", Grid, max_episode_steps=50)
torch.manual_seed(1)
writer = SummaryWriter("runs/dict")
envs = gym.make_vec("Grid-v0", num_envs=ENVS, vectorization_mode="sync")
actor = nn.Sequential(nn.Linear(8 * 8 * 3 + 2, 64), nn.Tanh(), nn.Linear(64, 4))
optimizer = torch.optim.Adam(actor.parameters(), lr=3e-3)
seen, _ = envs.reset(seed=1)
for update in range(UPDATES):
    log_probs, rewards = [], []
    for _ in range(ROLLOUT):
        inputs = np.concatenate([seen["picture"].reshape(ENVS, -1) / 255, seen["position"]], 1)
        policy = torch.distributions.Categorical(logits=actor(torch.as_tensor(inputs, dtype=torch.float32)))
        actions = policy.sample()
        seen, reward, *_ = envs.step(actions.numpy())
        log_probs.append(policy.log_prob(actions))
        rewards.append(torch.as_tensor(reward, dtype=torch.float32))
    gains = torch.stack(rewards).flip(0).cumsum(0).flip(0)
    loss = -(torch.stack(log_probs) * (gains - gains.mean())).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    writer.add_scalar("losses/policy", loss.item(), update)
print("weights", sum(part.double().sum().item() for part in actor.parameters()))
envs.close()
