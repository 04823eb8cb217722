"""The policy: a network from stored observations and masks to masked logits and values."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from ...envs import BadParameter, Field, Task
from ..nets.decoding import decoder, image_shape, is_image, mask_decoder
from ..nets.distribution import distribution_of
from ..nets.running_moments import ImageMoments, RunningMoments
from ..nets.torsos import initialize
from .networks import build_network
from .settings import PpoSettings

INITIAL_DEVIATION = 0.5
"""The initial standard deviation of continuous actions, in the policy's unit (Andrychowicz et al., 2021)."""


class PpoPolicy(nn.Module):
    """Decodes stored rows and applies the network.

    Attributes:
        distribution: What the outputs mean.
        log_std: Logarithms of the standard deviations of continuous actions, for all observations; else None.
        decode: Decodes stored rows to float32.
        mask: Decodes stored masks to what is added to the logits; None if every action is always legal.
        network: Maps float32 rows to logits and values.
        observations: Moments of the decoded observations, which normalize them; None if they are not normalized.
        rewards: Moments of the discounted returns, whose deviation scales rewards; None if they are not scaled.
    """

    def __init__(self, task: Task, settings: PpoSettings, generator: torch.Generator) -> None:
        super().__init__()
        self.distribution = distribution_of(task)
        first = torch.full((len(task.bounds),), math.log(INITIAL_DEVIATION))
        self.log_std = nn.Parameter(first) if task.bounds else None
        self.decode = decoder(task.observation)
        self.mask = mask_decoder(task)
        self.network = build_network(task, settings)
        self.observations = _moments(task.observation) if settings.normalize_observation else None
        self.rewards = RunningMoments(()) if settings.normalize_reward else None
        initialize(self.network, self.network.initial_gains(), generator)

    def forward(self, observation: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return the distribution's outputs, masked logits `(rows, num_actions)` for choices, and values `(rows,)`.

        Args:
            observation: `(rows, *stored_shape)` as the buffer stores it.
            mask: `(rows, bytes)` of packed bits, 1 where an action is legal; None where all are.
        """
        logits, value = self.network(self._inputs(observation))
        if self.mask is not None and mask is not None:
            logits = logits + self.mask(mask)
        if self.log_std is not None:
            logits = torch.cat((logits, self.log_std.expand_as(logits)), -1)
        return logits, value

    def value(self, observation: Tensor) -> Tensor:
        """Return values `(rows,)` alone."""
        value: Tensor = self.network(self._inputs(observation))[1]
        return value

    def _inputs(self, observation: Tensor) -> Tensor:
        decoded: Tensor = self.decode(observation)
        return decoded if self.observations is None else self.observations(decoded)

    @property
    def value_unit(self) -> float | Tensor:
        """What one unit of a value is in the environment's rewards."""
        return 1.0 if self.rewards is None else self.rewards.deviation


def _moments(observation: Field) -> RunningMoments:
    """Return what normalizes decoded observations.

    Raises:
        BadParameter: Images are only a part of them.
    """
    if observation.images:
        raise BadParameter("ppo.normalize_observation: set it to false for images beside other observations")
    return ImageMoments(image_shape(observation)) if is_image(observation) else RunningMoments(observation.shape)
