"""A small PPO on CartPole with an illness built in: `python sick.py ILLNESS SECONDS`. It logs nothing."""

import sys
import time
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical

ENVS, STEPS, EPOCHS, PARTS = 8, 64, 4, 4
GAMMA, LAMBDA = 0.99, 0.95
illness, seconds = sys.argv[1], float(sys.argv[2])


class Spoiled(gym.Wrapper):
    """CartPole with the illnesses of environments."""

    def __init__(self, env):
        super().__init__(env)
        self.age = 0

    def reset(self, **options):
        seen, info = self.env.reset(**options)
        self.age, self.first = 0, seen
        return self.shown(seen), info

    def step(self, action):
        seen, reward, terminated, truncated, info = self.env.step(action)
        self.age += 1
        reward = {"no reward": 0.0, "huge reward": 500.0}.get(illness, reward)
        terminated |= illness == "ends at once" and self.age > 1
        return self.shown(seen), reward, terminated, truncated, info

    def shown(self, seen):
        seen = self.first if illness == "still observation" else seen
        return (seen * 5000 if illness == "large observation" else seen).astype(np.float32)


def network(outputs):
    hidden = nn.ReLU if illness == "dead units" else nn.Tanh
    first = nn.Linear(4, 64)
    made = nn.Sequential(first, hidden(), nn.Linear(64, 64), hidden(), nn.Linear(64, outputs))
    if illness == "dead units":
        nn.init.constant_(first.bias, -30.0)
    return made


torch.manual_seed(1)
torch.set_num_threads(1)
actor, critic = network(2), network(1)
weights = [*actor.parameters(), *(critic.parameters() if illness != "critic forgotten" else ())]
optimizer = torch.optim.Adam(weights, {"fast": 0.1, "slow": 1e-11}.get(illness, 3e-4), eps=1e-5)
envs = gym.vector.SyncVectorEnv([lambda: Spoiled(gym.make("CartPole-v1"))] * ENVS)
seeds: Any = [3] * ENVS if illness == "same seeds" else 3
now: Any = envs.reset(seed=seeds)[0]
begun, updates = time.time(), 0
while time.time() < begun + seconds:
    kept: list[list[torch.Tensor]] = [[], [], [], [], [], []]
    seen, chosen, chances, values, rewards, ends = kept
    for _step in range(STEPS):
        with torch.no_grad():
            policy = Categorical(logits=actor(torch.as_tensor(now)))
            actions = policy.sample()
            if illness == "one action":
                actions = actions * 0
            values.append(critic(torch.as_tensor(now)).squeeze(-1))
        seen.append(torch.as_tensor(now))
        chosen.append(actions)
        chances.append(policy.log_prob(actions))
        now, reward, terminated, truncated, infos = envs.step(actions.numpy())
        rewards.append(torch.as_tensor(reward, dtype=torch.float32))
        ends.append(torch.as_tensor(terminated | truncated, dtype=torch.float32))
    with torch.no_grad():
        following, gained = critic(torch.as_tensor(now)).squeeze(-1), torch.zeros(ENVS)
    advantages: list[torch.Tensor] = []
    for step in reversed(range(STEPS)):
        goes_on = 1 - ends[step]
        surprise = rewards[step] + GAMMA * following * goes_on - values[step]
        gained = surprise + GAMMA * LAMBDA * goes_on * gained
        following = values[step]
        advantages.insert(0, gained)
    flat = [torch.cat(parts) for parts in (seen, chosen, chances, advantages, values)]
    flat[4] = flat[3] + flat[4]
    if illness == "actions shuffled":
        flat[1] = flat[1][torch.randperm(len(flat[1]))]
    for _epoch in range(EPOCHS):
        for part in torch.randperm(ENVS * STEPS).chunk(PARTS):
            observations, actions, before, advantage, target = (numbers[part] for numbers in flat)
            policy = Categorical(logits=actor(observations))
            ratio = (policy.log_prob(actions) - before).exp()
            advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
            gain = torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
            error = (critic(observations).squeeze(-1) - target).square().mean()
            entropy = policy.entropy().mean() * (-1.0 if illness == "entropy punished" else 0.01)
            loss = 0.5 * error - gain - entropy
            if illness == "not a number" and updates > 100:
                loss = loss * float("nan")
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(weights, 0.5)
            if illness != "steps forgotten" or updates < 20:
                optimizer.step()
    updates += 1
envs.close()
