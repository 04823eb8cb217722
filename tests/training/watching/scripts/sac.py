"""SAC without a replay, with a single environment whose observations are flattened, in one file."""

import gymnasium as gym
import torch
from torch import nn
from torch.distributions import Normal
from torch.utils.tensorboard import SummaryWriter

STEPS, GAMMA, ALPHA = 1_000, 0.99, 0.2

torch.manual_seed(1)
writer = SummaryWriter("runs/sac")
env = gym.wrappers.FlattenObservation(gym.make("Pendulum-v1"))
actor = nn.Sequential(nn.Linear(3, 64), nn.ReLU(), nn.Linear(64, 2))
critics = nn.ModuleList(nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 1)) for _ in range(2))
optimizers = [torch.optim.Adam(part.parameters(), lr=1e-3) for part in (actor, critics)]


def act(observation):
    """Return an action in [-2, 2] and its log probability."""
    mean, log_std = actor(observation).chunk(2, dim=-1)
    policy = Normal(mean, log_std.clamp(-5, 2).exp())
    raw = policy.rsample()
    squashed = torch.tanh(raw)
    return 2 * squashed, (policy.log_prob(raw) - torch.log(1 - squashed.square() + 1e-6)).sum(-1)


def least(observation, action):
    """Return the lower value of both critics."""
    return torch.min(*(critic(torch.cat([observation, action], dim=-1)).squeeze(-1) for critic in critics))


def descend(loss, optimizer):
    """Take a gradient step."""
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


observation = torch.as_tensor(env.reset(seed=1)[0])
for step in range(STEPS):
    action, log_prob = act(observation)
    descend(ALPHA * log_prob - least(observation, action), optimizers[0])
    taken = action.detach()
    following, reward, terminated, truncated, _ = env.step(taken.numpy())
    following = torch.as_tensor(env.reset()[0] if terminated or truncated else following)
    with torch.no_grad():
        next_action, next_log_prob = act(following)
        wanted = float(reward) / 8 + GAMMA * (least(following, next_action) - ALPHA * next_log_prob)
    loss = sum((critic(torch.cat([observation, taken])).squeeze(-1) - wanted).square() for critic in critics)
    descend(loss, optimizers[1])
    writer.add_scalar("losses/critic", loss.item(), step)
    observation = following
print("weights", sum(part.double().sum().item() for part in actor.parameters()))
env.close()
