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
    out: Tensor,
    final_values: Tensor,
    discounts: Tensor,
    gae_lambda: float,
) -> tuple[Tensor, Tensor]:
    """Return advantages and returns, both `(T, R)`.

    The return bootstraps from 0 after a termination and after the row was eliminated, and from the value of the last
    observation after a truncation. Rewards until the row's next decision belong to the last one and are not discounted.
    The advantage of a row that is not active is meaningless.

    Args:
        rewards: `(T, R)`.
        values: `(T + 1, R)`.
        terminated: `(T, R)` bool.
        truncated: `(T, R)` bool.
        active: `(T, R)` bool, rows that took a decision.
        out: `(T, R)` bool, rows that were eliminated before the step.
        final_values: `(T, R)`, read where truncated.
        discounts: `(T, R)`, from `step_discounts`.
        gae_lambda: The decay of the estimator.
    """
    passed = discounts.masked_fill(terminated | truncated | out, 0.0)
    kept = (~(terminated | truncated | out)).float()
    ending = (discounts * final_values).masked_fill(~truncated | out, 0.0)
    advantages, nothing = torch.empty_like(rewards), torch.zeros_like(rewards)
    # What follows a step, as three numbers per row: the rewards until the next decision, the discounted value of that
    # decision, and its discounted advantage. A step changes them by a multiplication and an addition.
    factors = torch.stack((kept, passed, passed), dim=1)
    terms = torch.stack((rewards.masked_fill(out, 0.0), ending, nothing), dim=1)
    decided = torch.stack((nothing, values[:-1], nothing), dim=1)
    following = torch.stack((nothing[0], values[-1], nothing[0]))
    for t in range(len(rewards) - 1, -1, -1):
        following = torch.addcmul(terms[t], following, factors[t])
        torch.sub(following.sum(dim=0), values[t], out=advantages[t])
        torch.mul(advantages[t], gae_lambda, out=decided[t, 2])
        following = torch.where(active[t], decided[t], following)
    return advantages, advantages + values[:-1]


def step_discounts(frames: Tensor, active: Tensor, gamma: float, *, per_frame: bool) -> Tensor:
    """Return the discount of each step, `(T, R)`: gamma at a decision, or gamma^frames at every step.

    Args:
        frames: `(T, R)`, frames of the step.
        active: `(T, R)` bool, rows that took a decision.
        gamma: The discount of a decision, or of a frame.
    """
    return torch.full_like(frames, gamma).pow(frames if per_frame else active)
