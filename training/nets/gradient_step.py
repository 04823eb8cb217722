"""Gradient steps: threads compute parts of a minibatch, ranks add their gradients, then clip and Adam."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch import Tensor

from ..ranks import Ranks
from .compute_threads import ComputeThreads
from .weights import Adam, laid_out_like

Gradient: TypeAlias = Callable[[Tensor, float], tuple[list[Tensor], Tensor]]
"""Maps at least one row of a batch and a factor to the gradient of the mean loss times the factor, by each parameter,
and to means of other statistics, `(n,)`."""


def norm_of(gradients: list[Tensor]) -> Tensor:
    """Return the norm of a whole gradient. That of torch.nn.utils.clip_grad_norm_ has several times the overhead."""
    norm: Tensor = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients)))  # noqa: SLF001 - as torch does
    return norm


@dataclass(frozen=True)
class GradientStep:
    """Takes gradient steps on a network.

    Attributes:
        optimizer: Adam over the network's parameters.
        ranks: Add their gradients.
        rows_at_once: The most rows that one thread computes at once on the CPU.
        max_norm: Maximum norm of the gradient of all ranks together.
        statistics: The number of statistics that the loss returns.
    """

    optimizer: Adam
    threads: ComputeThreads
    ranks: Ranks
    rows_at_once: int
    max_norm: float
    statistics: int

    def take(self, gradient: Gradient, rows: Tensor, total: int) -> Tensor:
        """Take one step; return the means of the statistics and then the gradient's norm, `(n + 1,)` on the device.

        Args:
            gradient: The gradient, as a function of rows.
            rows: The rows of this rank, which may be none.
            total: The number of rows of all ranks.
        """
        parameters = self.optimizer.parameters

        def part(rows: Tensor) -> tuple[list[Tensor], Tensor]:
            if not len(rows):
                return [torch.zeros_like(each) for each in parameters], torch.zeros(self.statistics, device=rows.device)
            share = len(rows) / total
            found, statistics = gradient(rows, share)
            return found, statistics * share

        count = max(1, math.ceil(len(rows) / self.rows_at_once)) if rows.device.type == "cpu" else 1
        (gradients, statistics), *others = self.threads.run(part, rows.tensor_split(count))
        for more_gradients, more_statistics in others:
            torch._foreach_add_(gradients, more_gradients)
            statistics += more_statistics
        return self.apply(gradients, statistics)

    @torch.no_grad()
    def apply(self, gradients: list[Tensor], statistics: Tensor) -> Tensor:
        """Take a step with the gradients of this rank's rows; return what `take` returns.

        Args:
            gradients: That of each parameter, as shares of the mean over all ranks.
            statistics: `(n,)`, shares of their means.
        """
        self.ranks.add([*gradients, statistics])
        parameters = self.optimizer.parameters
        gradients = [laid_out_like(parameter, each) for parameter, each in zip(parameters, gradients, strict=True)]
        norm = norm_of(gradients)
        torch._foreach_mul_(gradients, (self.max_norm / (norm + 1e-6)).clamp(max=1.0))
        self.optimizer.step(gradients)
        return torch.cat((statistics, norm.unsqueeze(0)))
