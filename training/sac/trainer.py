"""The trainer: it draws actions in a ring of slots and learns from transitions drawn from it."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ...backends import usable_cores
from ...envs.actions import random_actions
from ...envs.fields import Array
from ..nets.device_buffer import ActionScale
from ..nets.distribution import normal
from ..nets.saliency import gradient_by_input
from ..replay.trainer import ReplayTrainer
from ..trainer import Context, PolicyOutput, Saliency
from .learner import SacLearner
from .networks import SacNetwork, action_output, check_task, squashed, value_of_action
from .settings import SacSettings


class SAC(ReplayTrainer):
    """Soft actor-critic (Haarnoja et al., 2018), for tasks with continuous actions.

    Attributes:
        name: Its name in `trainers.py`.
    """

    name = "sac"
    learner: SacLearner
    _settings: SacSettings

    def __init__(self, context: Context) -> None:
        check_task(context.task)
        settings = SacSettings.read(self.name, context.settings)
        super().__init__(context, settings, self.name)
        if self._device.type == "cpu":
            torch.set_num_threads(settings.threads or usable_cores())
        self.learner = SacLearner(context.task, settings, self._device, context.seed)
        self._scale = ActionScale(context.task, self._device)
        self._random_numbers = 2 * len(context.task.bounds)
        self._seen: tuple[Tensor, Tensor] | None = None

    @property
    def policy(self) -> SacNetwork:
        return self.learner.network

    @torch.inference_mode()
    def _act(self, slot: int, noise: Tensor) -> None:
        assert self._envs is not None
        assert self._replay is not None
        stored = torch.from_numpy(self._replay.newest()).to(self._device)
        own, others = noise.chunk(2, 1)
        if self.decisions < self._settings.learning_starts:
            actions = torch.from_numpy(random_actions(self._context.task, 1 - own.double().cpu().numpy()))
        else:
            outputs = self.learner.outputs(stored)
            actions = self._scale.of_environment(self._chosen(outputs, normal(own, others)))
        self._seen = stored, actions
        self._envs.buffer["action"][slot] = actions.cpu().numpy()

    def _chosen(self, outputs: Tensor, noise: Tensor) -> Tensor:
        """Return actions between -1 and 1; `noise` is normal."""
        return squashed(outputs, noise).actions

    @torch.inference_mode()
    def inspect(self, row: int) -> PolicyOutput | None:
        """Return mean and deviation of the row's action at its last decision, and what the critics expect of it.

        They are those of the present weights.
        """
        if self._seen is None or row >= len(self._seen[0]):
            return None
        stored, actions = (each[row : row + 1] for each in self._seen)
        return action_output(self.learner.outputs(stored), self._scale, self.learner.values(stored, actions))

    def saliency(self, row: int, observation: Array, mask: Array | None, action: Array | None) -> Saliency | None:  # noqa: ARG002
        """Return the gradient of the value of the chosen action by the newest observation."""
        stack = self._stack_before(row, observation)
        if stack is None:
            return None
        device, network = self._device, self.policy
        older = network.decode(torch.from_numpy(stack).to(device)) if len(stack) else None
        chosen = None if action is None else self._scale.of_policy(torch.from_numpy(np.array(action[None])).to(device))

        def target(newest: Tensor) -> Tensor:
            nonlocal chosen
            observed = (newest if older is None else torch.cat((older, newest))).reshape(1, -1)
            if chosen is None:
                stored = torch.from_numpy(np.array([*stack, observation]) if len(stack) else np.array(observation))
                with torch.no_grad():
                    chosen = self.learner.outputs(stored[None].to(device)).chunk(2, 1)[0].tanh()
            return value_of_action(network, observed, chosen)

        gradient = gradient_by_input(network.decode, self._context.task.observation, observation, target)
        assert chosen is not None
        return Saliency(gradient, "Q", self._scale.of_environment(chosen)[0].cpu().numpy())

    def _release(self) -> None:
        self._seen = None
        super()._release()
