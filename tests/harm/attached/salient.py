"""A small PPO that takes its time: weights, gradients, and the states of all generators and modes at the end."""
# needs: torch
import hashlib
import random
import time
import gymnasium as gym
import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
torch.set_num_threads(1)
random.seed(0)
np.random.seed(0)
N, T = 4, 64
actor = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))
critic = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
weights = [*actor.parameters(), *critic.parameters()]
optimizer = torch.optim.Adam(weights, 1e-3)
envs = gym.make_vec("CartPole-v1", num_envs=N, vectorization_mode="sync")
envs.action_space.seed(0)
seen = torch.as_tensor(envs.reset(seed=0)[0])
for update in range(8):
    rows = []
    for _ in range(T):
        with torch.set_grad_enabled(update % 2 == 0):
            policy, value = Categorical(logits=actor(seen)), critic(seen).squeeze(-1)
            action = policy.sample()
            log_prob = policy.log_prob(action).detach()
        following, reward, terminated, truncated, _ = envs.step(action.numpy())
        rows.append((seen, action, log_prob, value.detach(), torch.as_tensor(reward, dtype=torch.float32)))
        seen = torch.as_tensor(following)
        time.sleep(0.005)
    observations, actions, log_probs, values, rewards = (torch.stack(each) for each in zip(*rows))
    returns = rewards.flip(0).cumsum(0).flip(0)
    for _ in range(3):
        ratio = (Categorical(logits=actor(observations)).log_prob(actions) - log_probs).exp()
        loss = -(ratio * (returns - values)).mean() + (critic(observations).squeeze(-1) - returns).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
for kept in (weights, [weight.grad for weight in weights]):
    print(hashlib.sha256(b"".join(each.detach().numpy().tobytes() for each in kept)).hexdigest())
print(hashlib.sha256(torch.get_rng_state().numpy().tobytes()).hexdigest(), random.random(), np.random.rand())
print(envs.action_space.sample().tolist(), torch.is_grad_enabled(), torch.get_default_dtype(), torch.get_num_threads())
print([sorted(vars(layer)) for layer in actor], [len(layer._forward_hooks) for layer in actor])
