"""A categorical distribution over masked logits, as functions: nothing is built or validated per step."""

from __future__ import annotations

import torch
from torch import Tensor

FORBIDDEN = -1e9
"""Added to the logit of an illegal action: finite, so that a row without any legal action is uniform and not NaN."""
SMALLEST = 1e-9
"""Uniform noise is kept from 0, so that a row's only legal action beats the illegal ones in any case."""


def sample(logits: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Draw an action per row of `(rows, actions)`; return the actions and their log-probabilities.

    The largest of p / e, with e from the exponential distribution, is drawn by p; an illegal action's p is 0.
    """
    probability = logits.softmax(-1)
    uniform = torch.rand(logits.shape, generator=generator, device=logits.device)
    exponential = uniform.clamp_(min=SMALLEST).log_().neg_()
    action = (probability / exponential).argmax(-1, keepdim=True)
    return action.squeeze(-1), probability.gather(-1, action).log_().squeeze(-1)


def log_probability_and_entropy(logits: Tensor, action: Tensor) -> tuple[Tensor, Tensor]:
    """Return the log-probability of each row's action, and each row's entropy in nats."""
    log_p = logits.log_softmax(-1)
    # Not exp(log_p): exponentials of what is forbidden take a slow path.
    entropy = -(logits.softmax(-1) * log_p).sum(-1)
    return log_p.gather(-1, action.unsqueeze(-1)).squeeze(-1), entropy
