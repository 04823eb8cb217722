"""A categorical distribution over masked logits, as functions: nothing is built or validated per step."""

from __future__ import annotations

import torch
from torch import Tensor

FORBIDDEN = -1e9
"""Added to the logit of an illegal action: finite, so that a row without any legal action is uniform and not NaN."""


def sample(logits: Tensor, generator: torch.Generator) -> Tensor:
    """Draw an action per row of `(rows, actions)`; illegal ones are never drawn while a row has a legal one.

    Adding Gumbel noise and taking the largest draws from the softmax (Gumbel, 1954); -log of an exponential number is
    such noise.
    """
    noise = torch.empty_like(logits).exponential_(generator=generator)
    # A float32 exponential can be 0: its logarithm must stay far below what forbids an action.
    return (logits - noise.clamp_(min=1e-30).log_()).argmax(-1)


def log_probability(logits: Tensor, action: Tensor) -> Tensor:
    """Return the log-probability of each row's action."""
    return logits.gather(-1, action.unsqueeze(-1)).squeeze(-1) - logits.logsumexp(-1)


def log_probability_and_entropy(logits: Tensor, action: Tensor) -> tuple[Tensor, Tensor]:
    """Return the log-probability of each row's action, and each row's entropy in nats."""
    log_p = logits.log_softmax(-1)
    entropy = -(log_p.exp() * log_p).sum(-1)
    return log_p.gather(-1, action.unsqueeze(-1)).squeeze(-1), entropy
