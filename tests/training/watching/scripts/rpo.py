"""Robust policy optimization: REINFORCE with disturbed means of continuous actions, in one file."""

import gymnasium as gym
import torch
from torch import nn
from torch.distributions import Normal, Uniform
from torch.utils.tensorboard import SummaryWriter

ENVS, ROLLOUT, UPDATES, ALPHA = 2, 64, 30, 0.5


def make_env(index):
    """Return a function that makes an environment."""

    def thunk():
        env = gym.make("MountainCarContinuous-v0")
        env = gym.wrappers.RecordEpisodeStatistics(env)
        env = gym.wrappers.ClipAction(env)
        env.action_space.seed(index)
        return env

    return thunk


torch.manual_seed(1)
writer = SummaryWriter("runs/rpo")
envs = gym.vector.SyncVectorEnv([make_env(index) for index in range(ENVS)])
actor = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1))
log_std = nn.Parameter(torch.zeros(1))
optimizer = torch.optim.Adam([*actor.parameters(), log_std], lr=1e-3)
seen, _ = envs.reset(seed=1)
for update in range(UPDATES):
    log_probs, rewards = [], []
    for _ in range(ROLLOUT):
        mean = actor(torch.as_tensor(seen, dtype=torch.float32))
        disturbed = mean + Uniform(-ALPHA, ALPHA).sample(mean.shape)
        policy = Normal(disturbed, log_std.exp())
        actions = policy.sample()
        seen, reward, *_ = envs.step(actions.numpy())
        log_probs.append(policy.log_prob(actions).sum(-1))
        rewards.append(torch.as_tensor(reward, dtype=torch.float32))
    gains = torch.stack(rewards).flip(0).cumsum(0).flip(0)
    loss = -(torch.stack(log_probs) * (gains - gains.mean())).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    writer.add_scalars("losses", {"policy": loss.item(), "std": log_std.exp().item()}, update)
print("weights", sum(part.double().sum().item() for part in actor.parameters()))
envs.close()
