"""A small PPO on CartPole with an illness built in: `python sick.py ILLNESS SECONDS [advice]`, in seconds of CPU time.

With `advice`, it follows what the diagnosis recommends for the illness, as a user would who changes a line or two. It
logs nothing unless the illness is one of figures.
"""

import sys
import time
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical

ENVS, STEPS, EPOCHS, PARTS = 8, 64, 4, 4
LAMBDA = 0.95
illness, seconds, advised = sys.argv[1], float(sys.argv[2]), "advice" in sys.argv[3:]
ill = "" if advised else illness
"""The illness, unless advice removes it directly; elsewhere the advice is added to the illness."""
GAMMA = 1.0 if illness == "beyond the end" and "advice" not in sys.argv else 0.99
LOGGING = {"advantages of nothing", "fast", "entropy punished", "huge reward", "same part again", "critic forgotten"}


class Spoiled(gym.Wrapper):
    """CartPole with the illnesses of environments; the first one differs in some."""

    def __init__(self, env, *, first=False):
        super().__init__(env)
        self.age, self.begins = 0, first
        if ill == "numbers missing":
            low, high = (np.full(24, end, np.float32) for end in (-np.inf, np.inf))
            self.observation_space = gym.spaces.Box(low, high)

    def reset(self, **options):
        seen, info = self.env.reset(**options)
        self.age, self.first = 0, seen
        return self.shown(seen), info

    def step(self, action):
        seen, reward, terminated, truncated, info = self.env.step(action)
        self.age += 1
        reward = {"no reward": 0.0, "huge reward": 500.0, "fixed reward": self.age == 1}.get(illness, reward)
        if illness == "fixed reward" and advised:
            reward = 1.0
        terminated |= ill == "ends at once" and self.age > 1
        if ill == "only cut":
            terminated, truncated = False, terminated or truncated
        if ill in {"slow environment", "slow worker"} and self.begins:
            waste(2e-3)
        if illness == "reward not a number" and self.age == 30:
            reward = float("nan")
        return self.shown(seen), float(reward), terminated, truncated, info

    def shown(self, seen):
        seen = self.first if ill == "still observation" else seen
        seen = seen * 5000 if illness == "large observation" else seen
        if ill == "numbers missing":
            seen = np.concatenate([seen, np.zeros(20)])
        if ill == "kinds mixed" and not self.age:
            return np.asarray(seen, np.float64)
        if ill == "observation not a number" and self.age == 30:
            seen = seen * np.nan
        return np.asarray(seen, np.float32)


class OneByOne:
    """Environments that the script steps one after the other, and resets itself."""

    def __init__(self, envs):
        self.envs = envs

    def reset(self, seed):
        return np.stack([env.reset(seed=seed + index)[0] for index, env in enumerate(self.envs)]), {}

    def step(self, actions):
        results = [env.step(action) for env, action in zip(self.envs, actions.tolist(), strict=True)]
        seen, rewards, terminated, truncated, _ = map(list, zip(*results, strict=True))
        for index, env in enumerate(self.envs):
            if terminated[index] or truncated[index]:
                seen[index] = env.reset(**({"seed": 3} if ill == "same seed" else {}))[0]
        return np.stack(seen), np.array(rewards), np.array(terminated), np.array(truncated), {}

    def close(self):
        for env in self.envs:
            env.close()


def waste(span):
    """Compute for some seconds."""
    end = time.perf_counter() + span
    while time.perf_counter() < end:
        pass


def made(index):
    """Return a function that makes an environment, with the wrappers that are recommended."""

    def make():
        env = Spoiled(gym.make("CartPole-v1"), first=index == 0)
        if advised and illness == "huge reward":
            return gym.wrappers.NormalizeReward(env)
        if advised and illness == "large observation":
            return gym.wrappers.NormalizeObservation(env)
        return env

    return make


def network(inputs, outputs):
    hidden = nn.ReLU if illness == "dead units" and not advised else nn.Tanh
    first = nn.Linear(inputs, 64)
    made = nn.Sequential(first, hidden(), nn.Linear(64, 64), hidden(), nn.Linear(64, outputs))
    if illness == "dead units":
        nn.init.constant_(first.bias, -30.0 if not advised else 0.0)
    return made


def chosen_by(policy):
    """Return the actions of a step."""
    if illness == "one action":
        return policy.sample() * (1 if advised else 0)
    if ill == "never drawn":
        return policy.probs.argmax(-1)
    return torch.randint(2, (ENVS,)) if ill == "random actions" else policy.sample()


torch.manual_seed(1)
torch.set_num_threads(8 if ill == "many threads" else 1)
makers = [made(index) for index in range(ENVS)]
envs: Any
if illness in {"slow environment", "same seed", "kinds mixed"}:
    envs = OneByOne([make() for make in makers])
else:
    envs = (gym.vector.AsyncVectorEnv if illness == "slow worker" else gym.vector.SyncVectorEnv)(makers)
now: Any = envs.reset(seed=[3] * ENVS if ill == "same seeds" else 3)[0]
if isinstance(now, tuple):
    now = now[0]
actor, critic = network(now.shape[1], 2), network(now.shape[1], 1)
weights = [*actor.parameters(), *(critic.parameters() if ill != "critic forgotten" else ())]
rates = {"fast": 1e-3 if advised else 0.1, "slow": 1e-4 if advised else 1e-11, "grows": 1e-3 if advised else 0.03}
rates |= {"same part again": 3e-4 if advised else 0.02, "beyond the end": 3e-4 if advised else 0.02}
decay = 1.0 if ill == "weights decay" else 0.0
optimizer = torch.optim.Adam(weights, rates.get(illness, 3e-4), eps=1e-5, weight_decay=decay)
log: Any = None
if illness in LOGGING:
    from pac.training.watching import watch

    log = watch.log
# Processes for environments have their own CPU time, and what saves files waits for the disk.
clock = time.time if illness in {"slow worker", "saves always"} else time.process_time
begun, updates = clock(), 0
while clock() < begun + seconds:
    kept: list[list[torch.Tensor]] = [[], [], [], [], [], []]
    seen, chosen, chances, values, rewards, ends = kept
    for _step in range(STEPS):
        with torch.no_grad():
            given = torch.as_tensor(now, dtype=torch.float32)
            if ill == "old observation" and seen:
                given = seen[0]
            policy = Categorical(logits=actor(given))
            actions = chosen_by(policy)
            values.append(critic(given).squeeze(-1))
        seen.append(given)
        chosen.append(actions)
        chances.append(policy.log_prob(actions))
        now, reward, terminated, truncated, infos = envs.step(actions.numpy())
        if ill == "saves always":
            torch.save({"actor": actor.state_dict(), "optimizer": optimizer.state_dict()}, "/dev/null")
        rewards.append(torch.as_tensor(reward, dtype=torch.float32))
        ends.append(torch.as_tensor(terminated | truncated, dtype=torch.float32))
    with torch.no_grad():
        following, gained = critic(torch.as_tensor(now, dtype=torch.float32)).squeeze(-1), torch.zeros(ENVS)
    advantages: list[torch.Tensor] = []
    for step in reversed(range(STEPS)):
        goes_on = 1 - ends[step] * (ill != "beyond the end")
        surprise = rewards[step] + GAMMA * following * goes_on - values[step]
        gained = surprise + GAMMA * LAMBDA * goes_on * gained
        following = values[step]
        advantages.insert(0, gained)
    flat = [torch.cat(parts) for parts in (seen, chosen, chances, advantages, values)]
    flat[4] = flat[3] + flat[4]
    if ill == "advantages of nothing":
        flat[3] = flat[4] - flat[4] + 1e-6 * torch.randn(len(flat[4]))
    if ill == "actions shuffled":
        flat[1] = flat[1][torch.randperm(len(flat[1]))]
    if ill == "rate ends" and updates > 20:
        optimizer.param_groups[0]["lr"] = 0.0
    figures: dict[str, float] = {}
    for _epoch in range(40 if ill == "same part again" else EPOCHS):
        for part in torch.randperm(ENVS * STEPS).chunk(PARTS):
            observations, actions, before, advantage, target = (numbers[part] for numbers in flat)
            policy = Categorical(logits=actor(observations))
            ratio = (policy.log_prob(actions) - before).exp()
            advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
            gain = torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
            error = (critic(observations).squeeze(-1) - target).square().mean()
            entropy = policy.entropy().mean() * (-1.0 if ill == "entropy punished" else 0.01)
            loss = 0.5 * error - gain - entropy
            if ill == "not a number" and updates > 20:
                loss = loss * float("nan")
            if ill != "gradients kept":
                optimizer.zero_grad()
            loss.backward()
            norm = nn.utils.clip_grad_norm_(weights, 0.5)
            if ill != "steps forgotten" or updates < 20:
                optimizer.step()
        with torch.no_grad():
            figures = {
                "approx_kl": float((ratio - 1 - ratio.log()).mean()),
                "clip_fraction": float(((ratio - 1).abs() > 0.2).float().mean()),
                "value_loss": float(error),
                "grad_norm": float(norm),
                "entropy": float(policy.entropy().mean()),
                "advantage_std": float(flat[3].std()),
                "return_std": float(flat[4].std()),
                "explained_variance": float(1 - flat[3].var() / flat[4].var()),
                "value_mean": float((flat[4] - flat[3]).mean()),
            }
    if log:
        log(figures)
    updates += 1
envs.close()
