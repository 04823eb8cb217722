"""The trainer: it acts epsilon-greedily in a ring of slots and learns from transitions drawn from it."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ...envs.fields import Array
from ..nets.decoding import FORBIDDEN
from ..nets.saliency import gradient_by_input
from ..replay.trainer import ReplayTrainer
from ..settings import scheduled
from ..trainer import Context, Metrics, PolicyOutput, Saliency
from .learner import QLearner
from .networks import QNetwork, check_choices, epsilon_greedy, q_output, shows_quantiles
from .settings import DqnSettings, IqnSettings, QLearningSettings


class DQN(ReplayTrainer):
    """Deep Q-learning with a target network, for tasks whose actions are single choices.

    Attributes:
        name: Its name in `trainers.py`.
    """

    name = "dqn"
    settings: type[QLearningSettings] = DqnSettings
    learner: QLearner
    _settings: QLearningSettings

    def __init__(self, context: Context) -> None:
        check_choices(context.task, self.name)
        settings = self.settings.read(self.name, context.settings)
        super().__init__(context, settings, self.name)
        self.learner = QLearner(context.task, settings, self._device, context.seed, ranks=context.ranks)
        self._q: Tensor | None = None
        self._quantiles: Tensor | None = None
        self._epsilon = 1.0

    @property
    def policy(self) -> QNetwork:
        return self.learner.online

    @torch.inference_mode()
    def _act(self, slot: int, noise: Tensor) -> None:
        assert self._envs is not None
        assert self._replay is not None
        buffer = self._envs.buffer
        observation = torch.from_numpy(self._replay.newest()).to(self._device)
        mask = torch.from_numpy(buffer["action_mask"][slot]).to(self._device) if self._context.task.masked else None
        self._q, self._quantiles = values, _ = self.policy.values(self.policy.features(observation), mask)
        self._epsilon = self._exploration()
        buffer["action"][slot] = epsilon_greedy(values, self.policy, mask, noise, self._epsilon).cpu().numpy()

    def _exploration(self) -> float:
        return scheduled(self._settings.epsilon, self.decisions)

    def _after_updates(self, before: int) -> None:
        if self._due(self._settings.target_update, before):
            self.learner.update_target()

    def _own_figures(self) -> Metrics:
        return {"epsilon": self._epsilon}

    def inspect(self, row: int) -> PolicyOutput | None:
        """Return the policy's output for a row at its last decision: the best actions with values and probabilities."""
        if self._q is None or row >= len(self._q):
            return None
        spread = None if self._quantiles is None else self._quantiles[row]
        return q_output(self._q[row], self._epsilon, spread if shows_quantiles(self._settings) else None)

    def probabilities(self, row: int) -> Array | None:
        """Return the probability of each action for a row at its last decision: the best one, or a random legal one."""
        if self._q is None:
            return None
        values = self._q[row]
        legal = values > FORBIDDEN / 2
        found = legal.double() * (self._epsilon / max(1, int(legal.sum())))
        found[values.argmax()] += 1 - self._epsilon
        shares: Array = found.cpu().numpy()
        return shares

    def saliency(self, row: int, observation: Array, mask: Array | None, action: Array | None) -> Saliency | None:
        """Return the gradient of the value of the chosen action by the newest observation."""
        stack = self._stack_before(row, observation)
        if stack is None:
            return None
        older = self.policy.decode(torch.from_numpy(stack).to(self._device)) if len(stack) else None
        packed = torch.from_numpy(mask[None]).to(self._device) if mask is not None else None
        chosen = -1 if action is None else int(action)

        def target(newest: Tensor) -> Tensor:
            nonlocal chosen
            values = self.policy.of_decoded(newest, older, packed)[0]
            chosen = int(values.argmax()) if chosen < 0 else chosen
            return values[chosen]

        gradient = gradient_by_input(self.policy.decode, self._context.task.observation, observation, target)
        return Saliency(gradient, "Q", np.array(chosen))

    def _release(self) -> None:
        self._q = self._quantiles = None
        super()._release()


class IQN(DQN):
    """Implicit quantile networks (Dabney et al., 2018): DQN whose network learns the distribution of the return."""

    name = "iqn"
    settings = IqnSettings
