"""A small PPO: the weights at the end."""
# needs: torch
import hashlib
import gymnasium as gym
import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
torch.set_num_threads(1)
N, T = 4, 64
actor = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))
critic = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], 1e-3)
envs = gym.make_vec("CartPole-v1", num_envs=N, vectorization_mode="sync")
seen = torch.as_tensor(envs.reset(seed=0)[0])
for update in range(10):
    rows = []
    for _ in range(T):
        with torch.no_grad():
            policy, value = Categorical(logits=actor(seen)), critic(seen).squeeze(-1)
            action = policy.sample()
        following, reward, terminated, truncated, _ = envs.step(action.numpy())
        rows.append((seen, action, policy.log_prob(action), value, torch.as_tensor(reward, dtype=torch.float32)))
        seen = torch.as_tensor(following)
    observations, actions, log_probs, values, rewards = (torch.stack(each) for each in zip(*rows))
    returns = rewards.flip(0).cumsum(0).flip(0)
    for _ in range(3):
        ratio = (Categorical(logits=actor(observations)).log_prob(actions) - log_probs).exp()
        loss = -(ratio * (returns - values)).mean() + (critic(observations).squeeze(-1) - returns).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
weights = b"".join(each.detach().numpy().tobytes() for each in [*actor.parameters(), *critic.parameters()])
print(hashlib.sha256(weights).hexdigest(), torch.rand(1).item())
