"""The clipped surrogate update (Schulman et al., 2017)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from ...envs import PacError
from ..nets.adam import Adam
from ..nets.compute_threads import ComputeThreads
from ..nets.weights import laid_out_like
from ..trainer import Metrics
from .policy import Policy
from .settings import PpoSettings
from .storage import RolloutData

STATISTICS = ("loss/policy", "loss/value", "loss/entropy", "approx_kl", "clip_fraction", "grad_norm")
KL = STATISTICS.index("approx_kl")


class NonFiniteRollout(PacError):
    """A number is infinite or none; nothing was learned from it."""

    title = "Not a number"


@dataclass(frozen=True)
class PpoBatch:
    """The decisions of a rollout that are learned from, B of them.

    Attributes:
        index: `(B,)` their places in the flattened rollout.
        observations: Stored observations of the flattened rollout, with every row.
        masks: Stored masks of the flattened rollout, or None.
        actions: `(B, ...)`.
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
    def of(cls, experience: RolloutData, advantages: Tensor, returns: Tensor) -> PpoBatch:
        """Leave out the rows that took no decision.

        Raises:
            NotFinite: A reward, an observation or what the policy expected is infinite or not a number.
        """
        index = experience.active.flatten().nonzero().squeeze(-1)
        batch = cls(
            index=index,
            observations=experience.observations,
            masks=experience.masks,
            actions=experience.actions[index],
            logprobs=experience.logprobs[index],
            advantages=advantages.flatten()[index],
            returns=returns.flatten()[index],
        )
        batch._check(experience)
        return batch

    def _check(self, experience: RolloutData) -> None:
        bad = self.index[~self.advantages.isfinite()]
        if len(bad):
            rows = experience.rewards.shape[1]
            rewards, values, seen = (
                bool(numbers.isfinite().all())
                for numbers in (experience.rewards, experience.values, experience.observations)
            )
            if rewards and seen and not values:
                raise NonFiniteRollout(
                    "the policy's own estimates are no finite numbers any more: an update has spoiled its weights, "
                    "which are not saved. Lower the learning rate"
                )
            what = "an observation" if rewards else "a reward"
            raise NonFiniteRollout(
                f"finite numbers were expected and {what} was not one, in a rollout of row {int(bad[0]) % rows} of "
                f"{rows}; the weights are those from before. Look for a division by zero or an overflow in the "
                "environment"
            )


@dataclass(frozen=True)
class PpoLearner:
    """What an update needs beside the batch.

    Attributes:
        policy: Is improved.
        optimizer: Improves it.
        settings: Say how.
        threads: Shares the rows of a gradient step.
        shuffle: Orders the minibatches; on the CPU.
    """

    policy: Policy
    optimizer: Adam
    settings: PpoSettings
    threads: ComputeThreads
    shuffle: torch.Generator


def update(learner: PpoLearner, batch: PpoBatch, entropy_coefficient: float) -> Metrics:
    """Improve the policy by `epochs` passes over the batch; return means over the gradient steps.

    The device is waited for once, at the end, and once a pass if there is a `target_kl`.
    """
    settings = learner.settings
    if settings.normalize_advantage:
        batch = replace(batch, advantages=normalized(batch.advantages))
    totals = torch.zeros(len(STATISTICS), device=batch.returns.device)
    steps = 0
    for _ in range(settings.epochs):
        kl_before, steps_before = totals[KL].clone(), steps
        for chosen in minibatches(len(batch.index), settings.minibatch, learner.shuffle, batch.index.device):
            totals += gradient_step(learner, batch, chosen, entropy_coefficient)
            steps += 1
        if settings.target_kl and float(totals[KL] - kl_before) > settings.target_kl * (steps - steps_before):
            break
    return dict(zip(STATISTICS, (totals / max(steps, 1)).tolist(), strict=True))


def gradient_step(learner: PpoLearner, batch: PpoBatch, chosen: Tensor, entropy_coefficient: float) -> Tensor:
    """Take one step on the decisions `chosen` of the batch; return `STATISTICS` as a tensor on the device."""
    policy, settings = learner.policy, learner.settings
    parameters = list(policy.parameters())

    def part(rows: Tensor) -> tuple[list[Tensor], Tensor]:
        loss, statistics = part_loss(policy, batch, rows, settings, entropy_coefficient)
        share = len(rows) / len(chosen)
        return list(torch.autograd.grad(loss * share, parameters)), statistics * share

    count = max(1, math.ceil(len(chosen) / policy.network.rows_at_once)) if chosen.device.type == "cpu" else 1
    (gradients, statistics), *others = learner.threads.run(part, chosen.tensor_split(count))
    for more, figures in others:
        torch._foreach_add_(gradients, more)
        statistics += figures
    for parameter, gradient in zip(parameters, gradients, strict=True):
        parameter.grad = laid_out_like(parameter, gradient)
    norm = nn.utils.clip_grad_norm_(parameters, settings.max_grad_norm)
    learner.optimizer.step()
    return torch.cat((statistics, norm.unsqueeze(0)))


def part_loss(
    policy: Policy, batch: PpoBatch, rows: Tensor, settings: PpoSettings, entropy_coefficient: float
) -> tuple[Tensor, Tensor]:
    """Return the mean loss over some decisions of the batch, and `STATISTICS` but for the gradient's norm."""
    places = batch.index[rows]
    mask = batch.masks.index_select(0, places) if batch.masks is not None else None
    logits, value = policy(batch.observations.index_select(0, places), mask)
    logprob, entropy = policy.distribution.log_probability_and_entropy(logits, batch.actions[rows])
    log_ratio = logprob - batch.logprobs[rows]
    policy_loss, ratio = clipped_surrogate(log_ratio, batch.advantages[rows], settings.clip)
    value_loss = value_error(value, batch.returns[rows], huber=settings.huber_value_loss)
    mean_entropy = entropy.mean()
    loss = policy_loss + settings.value_coefficient * value_loss - entropy_coefficient * mean_entropy
    with torch.no_grad():
        # The estimator k3 of http://joschu.net/blog/kl-approx.html: unbiased, never negative.
        kl = (ratio - 1 - log_ratio).mean()
        clipped = ((ratio - 1).abs() > settings.clip).float().mean()
        return loss, torch.stack((policy_loss, value_loss, mean_entropy, kl, clipped))


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
