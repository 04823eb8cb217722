"""Plays a trained policy without learning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from ..nets.policy_trainer import PolicyTrainer
from ..nets.weights import POLICY, load_weights, saved_tensors
from ..trainer import BufferSpec, Context, Envs, Metrics
from .policy import PpoPolicy
from .settings import PpoSettings

STEPS = 16


class PpoPlayer(PolicyTrainer[PpoPolicy]):
    """A trainer that only plays. An iteration is a few steps, and its state is the weights."""

    def __init__(self, context: Context, greedy: bool = True) -> None:
        settings = PpoSettings.read("ppo", context.settings)
        torch.set_num_threads(settings.threads or 1)
        policy = PpoPolicy(context.task, settings, torch.Generator().manual_seed(context.seed))
        super().__init__(context, policy, policy.distribution)
        self._greedy, self._steps = greedy, 0
        self._memory = torch.zeros(0)  # `(R, memory)` before the next step, of a recurrent policy

    def buffer(self, num_envs: int) -> BufferSpec:  # noqa: ARG002
        return BufferSpec(STEPS + 1)

    def attach(self, envs: Envs) -> None:
        """Play in environments from now on."""
        super().attach(envs)
        assert self._buffer is not None
        self._memory = torch.zeros(self._buffer.rows, self.policy.memory, device=self._buffer.device)

    @torch.inference_mode()
    def iterate(self) -> Metrics:
        """Play a few steps; return the mean value."""
        assert self._envs is not None
        assert self._buffer is not None
        assert self._noise is not None
        timer, buffer, distribution = self._context.timer, self._buffer, self._distribution
        uniform = self._noise.uniform(self._steps, STEPS)
        total = 0.0
        for slot in range(STEPS):
            logits, values = self.decided = self._decide(slot)
            best = distribution.best(logits) if self._greedy else distribution.sample(logits, uniform[slot])[0]
            buffer.actions[slot] = best
            buffer.publish_actions(slot)
            total += float(values.mean())
            timer.lap("inference")
            self._envs.advance(slot)
        self._envs.carry()
        self._steps += STEPS
        timer.lap("python")
        return {"value_mean": total / STEPS * float(self.value_unit)}

    def _decide(self, slot: int) -> tuple[Tensor, Tensor]:
        assert self._buffer is not None
        observation, mask = self._buffer.load(slot)
        if not self.policy.memory:
            return self.policy(observation, mask)  # type: ignore[no-any-return]
        memory = self._memory.masked_fill(self._buffer.begins(slot).unsqueeze(1), 0.0)
        logits, values, self._memory = self.policy.remember(observation, mask, memory)
        return logits, values

    @property
    def value_unit(self) -> float | Tensor:
        """What one unit of a value is in the environment's rewards."""
        return self.policy.value_unit

    def state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return copies of the weights."""
        return saved_tensors(self.policy), {}

    def load_state(self, tensors: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        """Play with the weights of a training's state. Nothing else of the state is used.

        Raises:
            WrongCheckpoint: They are weights of another network.
        """
        del data
        load_weights(self.policy, {name: torch.as_tensor(tensor) for name, tensor in tensors.items()}, POLICY)
