"""The clipped surrogate update (Schulman et al., 2017)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ..trainer import Metrics
from .distribution import log_probability_and_entropy
from .policy import Policy
from .settings import Settings
from .storage import Experience

STATISTICS = ("loss/policy", "loss/value", "loss/entropy", "approx_kl", "clip_fraction", "grad_norm")


@dataclass(frozen=True)
class Batch:
    """The decisions of a rollout that are learned from, B of them.

    Attributes:
        index: `(B,)` their places in the flattened rollout.
        observations: Stored observations of the flattened rollout, with every row.
        masks: Stored masks of the flattened rollout, or None.
        actions: `(B,)`.
        logprobs: `(B,)`, when the actions were taken.
        advantages: `(B,)`.
        returns: `(B,)`.
    """

    index: Tensor
    observations: Tensor
    masks: Tensor | None
    actions: Tensor
    logprobs: Tensor
    advantages: Tensor
    returns: Tensor

    @classmethod
    def of(cls, experience: Experience, advantages: Tensor, returns: Tensor) -> Batch:
        """Leave out the rows that took no decision."""
        index = experience.active.flatten().nonzero().squeeze(-1)
        return cls(
            index=index,
            observations=experience.observations,
            masks=experience.masks,
            actions=experience.actions[index],
            logprobs=experience.logprobs[index],
            advantages=advantages.flatten()[index],
            returns=returns.flatten()[index],
        )


def update(
    policy: Policy,
    optimizer: torch.optim.Optimizer,
    batch: Batch,
    settings: Settings,
    *,
    entropy_coefficient: float,
    generator: torch.Generator,
) -> Metrics:
    """Improve the policy by `epochs` passes over the batch; return means over the gradient steps.

    The device is waited for once, at the end, and once a pass if there is a `target_kl`.
    """
    if settings.normalize_advantage:
        batch = Batch(**{**vars(batch), "advantages": normalized(batch.advantages)})
    totals = torch.zeros(len(STATISTICS), device=batch.returns.device)
    steps = 0
    for _ in range(settings.epochs):
        kl_before, steps_before = totals[3].clone(), steps
        for chosen in minibatches(len(batch.index), settings.minibatch, generator, batch.index.device):
            totals += gradient_step(policy, optimizer, batch, chosen, settings, entropy_coefficient=entropy_coefficient)
            steps += 1
        if settings.target_kl and float(totals[3] - kl_before) > settings.target_kl * (steps - steps_before):
            break
    return dict(zip(STATISTICS, (totals / max(steps, 1)).tolist(), strict=True))


def gradient_step(
    policy: Policy,
    optimizer: torch.optim.Optimizer,
    batch: Batch,
    chosen: Tensor,
    settings: Settings,
    *,
    entropy_coefficient: float,
) -> Tensor:
    """Take one step on the decisions `chosen` of the batch; return `STATISTICS` as a tensor on the device."""
    rows = batch.index[chosen]
    mask = batch.masks.index_select(0, rows) if batch.masks is not None else None
    logits, value = policy(batch.observations.index_select(0, rows), mask)
    logprob, entropy = log_probability_and_entropy(logits, batch.actions[chosen])
    log_ratio = logprob - batch.logprobs[chosen]
    policy_loss, ratio = clipped_surrogate(log_ratio, batch.advantages[chosen], settings.clip)
    value_loss = value_error(value, batch.returns[chosen], huber=settings.huber_value_loss)
    mean_entropy = entropy.mean()
    loss = policy_loss + settings.value_coefficient * value_loss - entropy_coefficient * mean_entropy
    optimizer.zero_grad(set_to_none=True)
    loss.backward()  # type: ignore[no-untyped-call]
    norm = nn.utils.clip_grad_norm_(policy.parameters(), settings.max_grad_norm, foreach=True)
    optimizer.step()
    with torch.no_grad():
        # The estimator k3 of http://joschu.net/blog/kl-approx.html: unbiased, never negative.
        kl = (ratio - 1 - log_ratio).mean()
        clipped = ((ratio - 1).abs() > settings.clip).float().mean()
        return torch.stack((policy_loss, value_loss, mean_entropy, kl, clipped, norm)).detach()


def clipped_surrogate(log_ratio: Tensor, advantages: Tensor, clip: float) -> tuple[Tensor, Tensor]:
    """Return the policy loss, equation 7 of the paper with its sign turned, and the probability ratios."""
    ratio = log_ratio.exp()
    objective = torch.minimum(ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages)
    return -objective.mean(), ratio


def value_error(value: Tensor, returns: Tensor, *, huber: bool) -> Tensor:
    """Return half the mean squared error, or its Huber form, which has the same curvature."""
    if huber:
        return nn.functional.smooth_l1_loss(value, returns)
    return 0.5 * nn.functional.mse_loss(value, returns)


def normalized(advantages: Tensor) -> Tensor:
    """Return advantages with mean 0 and standard deviation 1."""
    return (advantages - advantages.mean()) / (advantages.std(correction=0) + 1e-8)


def minibatches(count: int, size: int, generator: torch.Generator, device: torch.device) -> Iterator[Tensor]:
    """Yield a random order of `0..count` in parts of nearly equal length, none shorter than `size` if it can be."""
    if count:
        order = torch.randperm(count, generator=generator).to(device)
        yield from order.tensor_split(max(1, count // size))


def explained_variance(values: Tensor, returns: Tensor) -> float:
    """Return the share of the returns' variance that the values explain: 1 is perfect, 0 no better than their mean."""
    variance = returns.var(correction=0)
    return float(1 - (returns - values).var(correction=0) / variance) if variance > 0 else 0.0
