"""Plays a trained policy without learning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from ..nets.weights import copied
from ..trainer import Context, Metrics
from .policy import Policy
from .policy_trainer import PolicyTrainer
from .settings import PpoSettings
from .state import load_policy

STEPS = 16


class PpoPlayer(PolicyTrainer):
    """Only plays: its iterations are a few steps each, its state the weights alone."""

    def __init__(self, context: Context, greedy: bool = True) -> None:
        settings = PpoSettings.read("ppo", context.settings)
        torch.set_num_threads(settings.threads or 1)
        super().__init__(context, Policy(context.task, settings, torch.Generator().manual_seed(context.seed)))
        self._greedy = greedy
        self._steps = 0

    def start(self, num_envs: int) -> None:
        """Make the environments and begin an episode in each."""
        self._open(num_envs, STEPS)

    @torch.inference_mode()
    def iterate(self) -> Metrics:
        """Play a few steps; return the mean value."""
        assert self._envs is not None
        assert self._storage is not None
        assert self._noise is not None
        timer, storage, played = self._context.timer, self._storage, self.policy.distribution
        uniform = self._noise.uniform(self._steps, STEPS)
        self._steps += STEPS
        total = 0.0
        for slot in range(STEPS):
            logits, storage.values[slot] = self.policy(*storage.load(slot))
            action = played.best(logits) if self._greedy else played.sample(logits, uniform[slot])[0]
            storage.logits, storage.decided = logits, slot
            storage.actions[slot] = action
            storage.publish_actions(slot)
            total += float(storage.values[slot].mean())
            timer.lap("inference")
            self._envs.advance(slot)
        self._envs.carry()
        timer.lap("python")
        return {"value_mean": total / STEPS}

    def state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return copies of the weights."""
        return {f"policy.{name}": copied(value) for name, value in self.policy.state_dict().items()}, {}

    def load_state(self, tensors: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        """Play with the weights of a training's state; the rest of it is not needed.

        Raises:
            WrongCheckpoint: They are those of another network.
        """
        del data
        load_policy(self.policy, {name: torch.as_tensor(tensor) for name, tensor in tensors.items()})
