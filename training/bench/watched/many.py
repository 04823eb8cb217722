"""Steps 200 environments 100 times each in a loop of its own, with one policy for all."""

from typing import Any

import gymnasium
import torch

NUM_ENVS, STEPS = 200, 100

envs = [gymnasium.make("CartPole-v1") for _ in range(NUM_ENVS)]
policy = torch.nn.Linear(4, 2)
observation: Any
observations = torch.stack([torch.as_tensor(env.reset(seed=seed)[0]) for seed, env in enumerate(envs)])
for _step in range(STEPS):
    actions = torch.distributions.Categorical(logits=policy(observations)).sample().tolist()  # type: ignore[no-untyped-call]
    for number, (env, action) in enumerate(zip(envs, actions, strict=True)):
        observation, _reward, terminated, truncated, _infos = env.step(action)
        if terminated or truncated:
            observation = env.reset()[0]
        observations[number] = torch.as_tensor(observation)
