"""The policy: stored observations and masks in, masked logits and values out."""

from __future__ import annotations

import math
from typing import Self

import torch
from torch import Tensor, nn

from ...envs import Task
from .distribution import FORBIDDEN, distribution_of
from .networks import build_network, initialize
from .settings import Settings
from .widen import WidenBits, widen

FIRST_DEVIATION = 0.5
"""Of a continuous action before anything is learned, in units of its reach (Andrychowicz et al., 2021)."""


class Policy(nn.Module):
    """Widens what the buffer stores, and asks the network.

    Attributes:
        distribution: What the outputs mean.
        log_std: Logarithms of a continuous action's standard deviations, the same for every observation; else None.
        widen: Stored rows to float32.
        mask: Stored masks to what is added to the logits; None if every action is always legal.
        network: Float32 rows to logits and values.
    """

    def __init__(self, task: Task, settings: Settings, generator: torch.Generator) -> None:
        super().__init__()
        self.distribution = distribution_of(task)
        first = torch.full((len(task.bounds),), math.log(FIRST_DEVIATION))
        self.log_std = nn.Parameter(first) if task.bounds else None
        self.widen = widen(task.observation)
        self.mask = WidenBits((task.num_actions,), zero=FORBIDDEN, one=0.0) if task.masked else None
        self.network = build_network(task, settings)
        initialize(self.network, generator)

    def placed(self, device: torch.device) -> Self:
        """Move to a device, convolutions with their channels last, which is how they run fastest."""
        for parameter in self.parameters():
            if parameter.dim() == 4:
                parameter.data = parameter.data.contiguous(memory_format=torch.channels_last)
        return self.to(device)

    def forward(self, observation: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return the distribution's outputs, masked logits `(rows, num_actions)` for choices, and values `(rows,)`.

        Args:
            observation: `(rows, *stored_shape)` as the buffer stores it.
            mask: `(rows, bytes)` of packed bits, 1 where an action is legal; None where all are.
        """
        logits, value = self.network(self.widen(observation))
        if self.mask is not None and mask is not None:
            logits = logits + self.mask(mask)
        if self.log_std is not None:
            logits = torch.cat((logits, self.log_std.expand_as(logits)), -1)
        return logits, value

    def value(self, observation: Tensor) -> Tensor:
        """Return values `(rows,)` alone."""
        value: Tensor = self.network(self.widen(observation))[1]
        return value


def laid_out_like(parameter: Tensor, value: Tensor) -> Tensor:
    """Return `value` in a parameter's memory layout: the fused optimiser walks through both side by side."""
    return value if value.stride() == parameter.stride() else torch.empty_like(parameter).copy_(value)
