"""A base class of trainers whose policy acts in environments."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import torch
from torch import Tensor, nn

from ...envs.fields import Array
from ..trainer import Context, Envs, PolicyOutput, Trainer
from .device_buffer import ActionScale, DeviceBuffer
from .distribution import ActionNoise, Categorical, Distribution, Gaussian, Product
from .weights import placed, saved_tensors

SHOWN = 5


def policy_output(distribution: Distribution, scale: ActionScale, outputs: Tensor, value: Tensor) -> PolicyOutput:
    """Return the most probable actions or the expected numbers of one row, with the entropy and the value."""
    row = outputs.float().unsqueeze(0)
    best = distribution.best(row)
    entropy = distribution.likelihood(row, best).entropy
    if isinstance(distribution, Gaussian):
        means, deviations = scale.of_environment(best), scale.reach(distribution.deviations(row))
        return PolicyOutput(float(value), float(entropy), (), (), means[0].tolist(), deviations[0].tolist())
    if isinstance(distribution, Product):
        parts = [logits.softmax(-1).max() for logits in distribution.parts(row)]
        return PolicyOutput(float(value), float(entropy), best[0].tolist(), [float(part) for part in parts])
    top = row[0].softmax(-1).topk(min(SHOWN, row.shape[-1]))
    return PolicyOutput(float(value), float(entropy), top.indices.tolist(), top.values.tolist())


AnyPolicy = TypeVar("AnyPolicy", bound=nn.Module)


class PolicyTrainer(Trainer, Generic[AnyPolicy]):
    """A trainer whose policy acts.

    Args:
        context: What the session gives.
        policy: The network. It is moved to the device.
        distribution: What the network's outputs mean.

    Attributes:
        policy: The network.
        decided: The outputs `(R, ...)` and values `(R,)` of the last decisions, which `inspect` explains; None before.
    """

    def __init__(self, context: Context, policy: AnyPolicy, distribution: Distribution) -> None:
        self.policy = placed(policy, torch.device(context.device))
        self.decided: tuple[Tensor, Tensor] | None = None
        self._context, self._distribution = context, distribution
        self._envs: Envs | None = None
        self._buffer: DeviceBuffer | None = None
        self._noise: ActionNoise | None = None

    def attach(self, envs: Envs) -> None:
        """Act in environments from now on."""
        context, device, num_envs = self._context, torch.device(self._context.device), envs.environments
        self._envs = envs
        self._buffer = DeviceBuffer(context.task, envs.buffer, device)
        self._noise = ActionNoise(
            context.seed,
            first_env=context.ranks.first_env(num_envs),
            num_envs=num_envs,
            players=context.task.players,
            numbers=self._distribution.numbers,
            device=device,
        )

    @property
    def value_unit(self) -> float | Tensor:
        """What one unit of a value is in the environment's rewards."""
        return 1.0

    def inspect(self, row: int) -> PolicyOutput | None:
        """Return the policy's output for a row at its last decision; None before the first."""
        if self._buffer is None or self.decided is None or row >= self._buffer.rows:
            return None
        outputs, values = self.decided
        return policy_output(self._distribution, self._buffer.scale, outputs[row], values[row] * self.value_unit)

    def probabilities(self, row: int) -> Array | None:
        """Return the probability of each action for a row at its last decision; None if they are not single choices."""
        if self.decided is None or not isinstance(self._distribution, Categorical):
            return None
        found: Array = self.decided[0][row].double().softmax(-1).cpu().numpy()
        return found

    def policy_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return copies of the weights, and the number of decisions if the trainer counts them."""
        return saved_tensors(self.policy), {"decisions": int(getattr(self, "decisions", 0))}

    def detach(self) -> None:
        """Release the buffer."""
        self.decided = self._envs = None
        if self._buffer is not None:
            self._buffer.close()
            self._buffer = None
