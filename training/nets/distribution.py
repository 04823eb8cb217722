"""Distributions over actions, as functions of a network's outputs: nothing is built or validated per step.

A task's kind of action decides: one choice, several at once, or numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from ...envs import Task

LOG_2_PI = math.log(2 * math.pi)


class Distribution(Protocol):
    """What a policy's outputs `(rows, ...)` mean."""

    def sample(self, outputs: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Draw an action per row; return the actions and their log-probabilities `(rows,)`."""

    def log_probability_and_entropy(self, outputs: Tensor, action: Tensor) -> tuple[Tensor, Tensor]:
        """Return the log-probability of each row's action, and each row's entropy in nats."""

    def best(self, outputs: Tensor) -> Tensor:
        """Return each row's likeliest action."""


def sample(logits: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Draw an action per row of `(rows, actions)`; return the actions and their log-probabilities.

    A random share in (0, 1] of the sum of p is looked up in the running sums, which an illegal action does not raise.
    """
    probability = logits.softmax(-1)
    sums = probability.cumsum(-1)
    share = 1 - torch.rand((len(logits), 1), generator=generator, device=logits.device)
    # What is not a number is found nowhere, and refused by the learner.
    action = torch.searchsorted(sums, share * sums[:, -1:]).clamp_(max=logits.shape[-1] - 1)
    return action.squeeze(-1), probability.gather(-1, action).log_().squeeze(-1)


def log_probability_and_entropy(logits: Tensor, action: Tensor) -> tuple[Tensor, Tensor]:
    """Return the log-probability of each row's action, and each row's entropy in nats."""
    log_p = logits.log_softmax(-1)
    # Not exp(log_p): exponentials of what is forbidden take a slow path.
    entropy = -(logits.softmax(-1) * log_p).sum(-1)
    return log_p.gather(-1, action.unsqueeze(-1)).squeeze(-1), entropy


class Categorical:
    """One choice; the outputs are masked logits `(rows, num_actions)`."""

    sample = staticmethod(sample)
    log_probability_and_entropy = staticmethod(log_probability_and_entropy)

    def best(self, outputs: Tensor) -> Tensor:
        """Return each row's likeliest action."""
        return outputs.argmax(-1)


@dataclass(frozen=True)
class Product:
    """Several choices at once, independent of each other; the outputs are their masked logits in a row.

    Attributes:
        choices: How many choices each component has.
    """

    choices: tuple[int, ...]

    def parts(self, outputs: Tensor) -> tuple[Tensor, ...]:
        """Return the logits of each component."""
        return torch.split_with_sizes(outputs, self.choices, -1)

    def sample(self, outputs: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Draw actions `(rows, components)`; return them and their log-probabilities."""
        drawn = [sample(logits, generator) for logits in self.parts(outputs)]
        actions, logprobs = zip(*drawn, strict=True)
        return torch.stack(actions, -1), torch.stack(logprobs, -1).sum(-1)

    def log_probability_and_entropy(self, outputs: Tensor, action: Tensor) -> tuple[Tensor, Tensor]:
        """Return the sums over the components."""
        parts = zip(self.parts(outputs), action.unbind(-1), strict=True)
        logprobs, entropies = zip(*(log_probability_and_entropy(*part) for part in parts), strict=True)
        return torch.stack(logprobs, -1).sum(-1), torch.stack(entropies, -1).sum(-1)

    def best(self, outputs: Tensor) -> Tensor:
        """Return each component's likeliest choice."""
        return torch.stack([logits.argmax(-1) for logits in self.parts(outputs)], -1)


class Gaussian:
    """Independent normal numbers; the outputs are their means, then the logarithms of their standard deviations."""

    def sample(self, outputs: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Draw numbers `(rows, K)`; return them and their log-densities."""
        mean, log_std = outputs.chunk(2, -1)
        noise = torch.randn(mean.shape, generator=generator, device=mean.device)
        return mean + noise * log_std.exp(), -(0.5 * (noise.square() + LOG_2_PI) + log_std).sum(-1)

    def log_probability_and_entropy(self, outputs: Tensor, action: Tensor) -> tuple[Tensor, Tensor]:
        """Return the log-density of each row's numbers, and the differential entropy."""
        mean, log_std = outputs.chunk(2, -1)
        noise = (action - mean) * (-log_std).exp()
        logprob = -(0.5 * (noise.square() + LOG_2_PI) + log_std).sum(-1)
        return logprob, (log_std + 0.5 * (1 + LOG_2_PI)).sum(-1)

    def best(self, outputs: Tensor) -> Tensor:
        """Return the means."""
        return outputs.chunk(2, -1)[0]

    def deviations(self, outputs: Tensor) -> Tensor:
        """Return the standard deviations."""
        return outputs.chunk(2, -1)[1].exp()


def distribution_of(task: Task) -> Distribution:
    """Return the distribution that fits the task's actions."""
    if task.bounds:
        return Gaussian()
    return Product(task.choices) if task.choices else Categorical()
