"""A PPO like CleanRL's, in one loop over vector environments, with its published settings, for `bench learning`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from pac.training.config import Config

from .learning_checks import Checks, LearningCurve, Report
from .learning_peers import mean_return

NUM_ENVS, STEPS, MINIBATCHES, EPOCHS = 4, 128, 4, 4
BATCH = NUM_ENVS * STEPS
RATE, FALLS_OVER = 2.5e-4, 500_000
"""Learning rate, which falls to 0 over so many decisions."""
GAMMA, GAE_LAMBDA, CLIP, ENTROPY, VALUE, NORM = 0.99, 0.95, 0.2, 0.01, 0.5, 0.5


def train_cleanrl_ppo(config: Config, checks: Checks, report: Report) -> None:
    """Train on a task with vector observations and discrete actions, and report the points."""
    import gymnasium

    torch.set_num_threads(1)
    torch.manual_seed(config.seed)
    np.random.seed(config.seed)  # noqa: NPY002 - the generator that CleanRL uses
    envs = gymnasium.vector.SyncVectorEnv(
        [lambda: gymnasium.wrappers.RecordEpisodeStatistics(gymnasium.make(config.task))] * NUM_ENVS,
        autoreset_mode=gymnasium.vector.AutoresetMode.SAME_STEP,
    )
    inputs, actions = math.prod(envs.single_observation_space.shape or ()), int(envs.single_action_space.n)  # type: ignore[attr-defined]
    agent = _Agent(inputs, actions)

    def greedy(observation: Any) -> Any:
        with torch.no_grad():
            return agent.actor(torch.as_tensor(observation[None])).argmax(1).numpy()[0]

    curve, decisions = LearningCurve(checks, lambda: mean_return(config.task, greedy), report), 0
    seen, done = torch.Tensor(envs.reset(seed=config.seed)[0]), torch.zeros(NUM_ENVS)
    while not curve.over:
        agent.optimizer.param_groups[0]["lr"] = RATE * max(0.0, 1 - decisions / FALLS_OVER)
        rollout = []
        for _ in range(STEPS):
            with torch.no_grad():
                policy = torch.distributions.Categorical(logits=agent.actor(seen))
                action = policy.sample()  # type: ignore[no-untyped-call]
                log_prob, value = policy.log_prob(action), agent.critic(seen).flatten()  # type: ignore[no-untyped-call]
            following, reward, terminated, truncated, _ = envs.step(action.numpy())
            rollout.append((seen, action, log_prob, value, torch.Tensor(reward), done))
            seen, done = torch.Tensor(following), torch.Tensor(terminated | truncated)
        decisions += BATCH
        agent.learn([torch.stack(each) for each in zip(*rollout, strict=True)], seen, done)
        curve.add(decisions)


class _Agent:
    """Actor, critic and their optimizer."""

    def __init__(self, inputs: int, actions: int) -> None:
        self.actor, self.critic = _network(inputs, actions, 0.01), _network(inputs, 1, 1.0)
        self._parameters = [*self.actor.parameters(), *self.critic.parameters()]
        self.optimizer = torch.optim.Adam(self._parameters, lr=RATE, eps=1e-5)

    def learn(self, rollout: list[Tensor], last: Tensor, done: Tensor) -> None:
        """Learn from a rollout, whose parts are `(steps, N, ...)`, and the observations and episode ends after it."""
        *parts, reward, dones = rollout
        with torch.no_grad():
            advantage = self._advantages(reward, parts[-1], dones, self.critic(last).flatten() * (1 - done))
        seen, action, log_prob, value = (part.reshape(BATCH, *part.shape[2:]) for part in parts)
        flat, order = advantage.reshape(BATCH), np.arange(BATCH)
        for _ in range(EPOCHS):
            np.random.shuffle(order)  # noqa: NPY002 - the generator that CleanRL uses
            for rows in np.split(order, MINIBATCHES):
                policy = torch.distributions.Categorical(logits=self.actor(seen[rows]))
                ratio = (policy.log_prob(action[rows]) - log_prob[rows]).exp()  # type: ignore[no-untyped-call]
                gained = (flat[rows] - flat[rows].mean()) / (flat[rows].std() + 1e-8)
                policy_loss = torch.max(-gained * ratio, -gained * ratio.clamp(1 - CLIP, 1 + CLIP)).mean()
                wanted, estimate = flat[rows] + value[rows], self.critic(seen[rows]).flatten()
                clipped = value[rows] + (estimate - value[rows]).clamp(-CLIP, CLIP)
                value_loss = 0.5 * torch.max((estimate - wanted) ** 2, (clipped - wanted) ** 2).mean()
                loss = policy_loss - ENTROPY * policy.entropy().mean() + VALUE * value_loss  # type: ignore[no-untyped-call]
                self.optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(self._parameters, NORM)
                self.optimizer.step()

    @staticmethod
    def _advantages(rewards: Tensor, values: Tensor, dones: Tensor, following: Tensor) -> Tensor:
        """Generalized advantage estimation, `(steps, N)`; a truncation counts as a termination, as in CleanRL.

        Args:
            rewards: `(steps, N)`, like `values` and `dones`.
            values: Estimated before the step.
            dones: Whether the observation is the first of an episode.
            following: `(N,)`, the estimated values after the last step.
        """
        advantages, carried = torch.zeros_like(rewards), torch.zeros(NUM_ENVS)
        for step in reversed(range(STEPS)):
            carried = rewards[step] + GAMMA * following - values[step] + carried
            advantages[step] = carried
            following, carried = values[step] * (1 - dones[step]), GAMMA * GAE_LAMBDA * carried * (1 - dones[step])
        return advantages


def _network(inputs: int, outputs: int, gain: float) -> nn.Module:
    """Two layers of 64 with tanh, with orthogonal weights."""
    layers = [nn.Linear(inputs, 64), nn.Linear(64, 64), nn.Linear(64, outputs)]
    for layer, scale in zip(layers, (math.sqrt(2), math.sqrt(2), gain), strict=True):
        nn.init.orthogonal_(layer.weight, scale)
        nn.init.zeros_(layer.bias)
    return nn.Sequential(layers[0], nn.Tanh(), layers[1], nn.Tanh(), layers[2])
