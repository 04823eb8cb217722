"""SAC with a single environment whose observations are flattened, in one file."""

import random

import gymnasium as gym
import numpy as np
import torch
from torch import nn
from torch.distributions import Normal
from torch.utils.tensorboard import SummaryWriter

STEPS, BATCH, GAMMA, ALPHA = 1_500, 64, 0.99, 0.2

random.seed(1)
torch.manual_seed(1)
writer = SummaryWriter("runs/sac")
env = gym.wrappers.FlattenObservation(gym.make("Pendulum-v1"))
env.action_space.seed(1)
actor = nn.Sequential(nn.Linear(3, 64), nn.ReLU(), nn.Linear(64, 2))
critics = nn.ModuleList(nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 1)) for _ in range(2))
actor_optimizer = torch.optim.Adam(actor.parameters(), lr=1e-3)
critic_optimizer = torch.optim.Adam(critics.parameters(), lr=1e-3)


def act(observations):
    """Return actions in [-2, 2] and their log probabilities."""
    mean, log_std = actor(observations).chunk(2, dim=-1)
    policy = Normal(mean, log_std.clamp(-5, 2).exp())
    raw = policy.rsample()
    squashed = torch.tanh(raw)
    return 2 * squashed, (policy.log_prob(raw) - torch.log(1 - squashed.square() + 1e-6)).sum(-1)


def least(observations, actions):
    """Return the lower value of both critics."""
    inputs = torch.cat([observations, actions], dim=-1)
    return torch.min(*(critic(inputs).squeeze(-1) for critic in critics))


replay = []
observation, _ = env.reset(seed=1)
for step in range(STEPS):
    if step < 200:
        action = env.action_space.sample()
    else:
        with torch.no_grad():
            action = act(torch.as_tensor(observation)[None])[0][0].numpy()
    following, reward, terminated, truncated, _ = env.step(action)
    replay.append((observation, action, np.float32(reward / 8), following))
    observation = env.reset()[0] if terminated or truncated else following
    if step >= 200 and step % 2 == 0:
        states, actions, rewards, nexts = (
            torch.as_tensor(np.stack(column)) for column in zip(*random.sample(replay, BATCH), strict=True)
        )
        with torch.no_grad():
            next_actions, log_probs = act(nexts)
            wanted = rewards + GAMMA * (least(nexts, next_actions) - ALPHA * log_probs)
        inputs = torch.cat([states, actions], dim=-1)
        critic_loss = sum((critic(inputs).squeeze(-1) - wanted).square().mean() for critic in critics)
        critic_optimizer.zero_grad()
        critic_loss.backward()
        critic_optimizer.step()
        new_actions, log_probs = act(states)
        actor_loss = (ALPHA * log_probs - least(states, new_actions)).mean()
        actor_optimizer.zero_grad()
        actor_loss.backward()
        actor_optimizer.step()
        writer.add_scalar("losses/critic", critic_loss.item(), step)
        writer.add_scalar("losses/actor", actor_loss.item(), step)
print("weights", sum(part.double().sum().item() for part in actor.parameters()))
env.close()
