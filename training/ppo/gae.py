"""Generalised advantage estimation (Schulman et al., 2016)."""

from __future__ import annotations

import torch
from torch import Tensor


@torch.no_grad()
def gae(
    *,
    rewards: Tensor,
    values: Tensor,
    terminated: Tensor,
    truncated: Tensor,
    active: Tensor,
    final_values: Tensor,
    discounts: Tensor,
    gae_lambda: float,
) -> tuple[Tensor, Tensor]:
    """Return advantages and returns, both `(T, R)`.

    The return bootstraps from 0 after a termination and from the value of the last observation after a truncation. A
    row that is not active took no decision. Its advantage is meaningless, and the advantage of its next decision is
    passed on undiscounted.

    Args:
        rewards: `(T, R)`.
        values: `(T + 1, R)`.
        terminated: `(T, R)` bool.
        truncated: `(T, R)` bool.
        active: `(T, R)` bool.
        final_values: `(T, R)`, read where truncated.
        discounts: `(T, R)`, the discount of each decision.
        gae_lambda: The decay of the estimator.
    """
    continues = (~(terminated | truncated)).float()
    ending = torch.where(truncated, final_values, 0.0)
    decay = discounts * gae_lambda * continues
    advantages = torch.empty_like(rewards)
    next_value, next_advantage = values[-1], torch.zeros_like(values[-1])
    for t in range(len(rewards) - 1, -1, -1):
        after = continues[t] * next_value + ending[t]
        delta = rewards[t] + discounts[t] * after - values[t]
        advantages[t] = delta + decay[t] * next_advantage
        next_value = torch.where(active[t], values[t], rewards[t] + after)
        next_advantage = torch.where(active[t], advantages[t], continues[t] * next_advantage)
    return advantages, advantages + values[:-1]
