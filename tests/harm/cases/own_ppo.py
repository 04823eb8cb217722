"""A small PPO of its own: the weights after three updates."""
# needs: torch
import hashlib
import gymnasium as gym
import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
torch.set_num_threads(1)
N, T = 4, 32
actor = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))
critic = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], 1e-3)
envs = gym.make_vec("CartPole-v1", num_envs=N, vectorization_mode="sync")
seen = torch.as_tensor(envs.reset(seed=0)[0])
for update in range(3):
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
    advantages = returns - values
    for _ in range(3):
        new = Categorical(logits=actor(observations))
        ratio = (new.log_prob(actions) - log_probs).exp()
        loss = -torch.min(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages).mean() + (critic(observations).squeeze(-1) - returns).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(update, loss.item())
digest = hashlib.sha256(b"".join(each.detach().numpy().tobytes() for each in [*actor.parameters(), *critic.parameters()]))
print(digest.hexdigest(), len(actor[0]._forward_hooks), len(nn.modules.module._global_forward_hooks), Categorical.__init__.__module__)
