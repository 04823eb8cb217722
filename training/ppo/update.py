"""The clipped surrogate update (Schulman et al., 2017)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, Protocol

import torch
from torch import Tensor, nn

from ...envs import PacError
from ..nets.gradient_step import GradientStep
from ..nets.running_moments import mean_and_deviation
from ..ranks import Ranks
from ..trainer import Metrics
from .policy import Evaluated, PpoPolicy
from .settings import PpoSettings
from .storage import RolloutData

STATISTICS = ("loss/policy", "loss/value", "loss/entropy", "approx_kl", "clip_fraction", "grad_norm")
KL = STATISTICS.index("approx_kl")


class NonFiniteRollout(PacError):
    """A reward, an observation or a value is NaN or infinite; nothing was learned from the rollout."""

    title = "Not a number"


@dataclass(frozen=True)
class Sequences:
    """A rollout in sequences of L steps of one row, S of them, each with what was remembered when it was collected.

    What was remembered is that of the policy that acted: it becomes stale as the update goes on, as all data of it.

    Attributes:
        places: `(S, L)` the places of their steps in the flattened rollout.
        memory: `(S, memory)` before the first step.
        begins: `(T x R,)` bool, where an episode begins with the step.
        decision: `(T x R,)` the index among the decisions; -1 where a row took none.
    """

    places: Tensor
    memory: Tensor
    begins: Tensor
    decision: Tensor

    @classmethod
    def of(cls, rollout: RolloutData, index: Tensor, length: int) -> Sequences:
        """Return the sequences of a rollout whose decisions are in the places `index`."""
        steps, rows = rollout.rewards.shape
        places = torch.arange(steps * rows, device=index.device).view(steps // length, length, rows)
        decision = torch.full((steps * rows,), -1, device=index.device)
        decision[index] = torch.arange(len(index), device=index.device)
        return cls(
            places=places.transpose(1, 2).reshape(-1, length),
            memory=rollout.memory[:-1:length].flatten(0, 1),
            begins=rollout.begins[:-1].flatten(),
            decision=decision,
        )


@dataclass(frozen=True)
class PpoBatch:
    """The decisions of a rollout, B of them: the steps of rows that were active.

    Attributes:
        index: `(B,)` their places in the flattened rollout.
        observations: Stored observations of the flattened rollout, of all rows.
        masks: Stored masks of the flattened rollout, or None.
        actions: `(B, ...)`.
        logprobs: `(B,)`, when the actions were taken.
        advantages: `(B,)`.
        returns: `(B,)`.
        sequences: The same rollout in sequences, for a recurrent policy; None for others.
    """

    index: Tensor
    observations: Tensor
    masks: Tensor | None
    actions: Tensor
    logprobs: Tensor
    advantages: Tensor
    returns: Tensor
    sequences: Sequences | None = None

    @property
    def units(self) -> int:
        """How many parts there are at most: each decision alone, or each sequence."""
        return len(self.index) if self.sequences is None else len(self.sequences.places)

    def decisions(self, units: Tensor) -> Tensor:
        """Return the decisions `0..B` in some of the units."""
        if self.sequences is None:
            return units
        found = self.sequences.decision[self.sequences.places[units].flatten()]
        return found[found >= 0]

    @classmethod
    def of(cls, rollout: RolloutData, advantages: Tensor, returns: Tensor, sequence: int = 0) -> PpoBatch:
        """Return the decisions of a rollout, without rows that took none.

        Args:
            sequence: Steps of the sequences for a recurrent policy, of which the rollout's steps are a multiple; 0 for
                other policies.
        """
        index = rollout.active.flatten().nonzero().squeeze(-1)
        return cls(
            index=index,
            observations=rollout.observations,
            masks=rollout.masks,
            actions=rollout.actions[index],
            logprobs=rollout.logprobs[index],
            advantages=advantages.flatten()[index],
            returns=returns.flatten()[index],
            sequences=Sequences.of(rollout, index, sequence) if sequence else None,
        )

    def fault(self, rollout: RolloutData, players: int) -> str:
        """Return what is wrong with the numbers of a rollout; an empty text if nothing is."""
        if bool(self.advantages.isfinite().all()):
            return ""
        rewards, values, observations = (
            bool(numbers.isfinite().all()) for numbers in (rollout.rewards, rollout.values, rollout.observations)
        )
        if rewards and observations and not values:
            return (
                "the policy's value estimates are NaN or infinite: an update has made weights NaN or infinite, which "
                "are not saved. Lower the learning rate"
            )
        steps, rows = rollout.rewards.shape
        numbers = rollout.rewards if not rewards else rollout.observations.view(steps, rows, -1)
        bad = (~numbers.view(steps, rows, -1).isfinite()).any(2).any(0).nonzero().flatten().tolist()
        what, term = ("an observation", "obs") if rewards else ("a reward", "reward")
        return (
            f"{what} is NaN or infinite {_where(bad, rows, players)}; nothing was learned from its rollout. Look for a "
            "division by zero or an overflow in the environment. To see the steps before it, run this again with "
            f"--break 'any: nan({term})', and go back with the left arrow key"
        )


def _where(bad: list[int], rows: int, players: int) -> str:
    """Return in which environments and seats, from 1, the rows `bad` are."""
    envs = sorted({row // players for row in bad})
    found = []
    for env in envs:
        seats = [row % players + 1 for row in bad if row // players == env]
        seat = f" (seat{'s' if len(seats) > 1 else ''} {', '.join(map(str, seats))})"
        found.append(f"{env + 1}{seat if players > 1 else ''}")
    return f"in environment{'s' if len(envs) > 1 else ''} {', '.join(found)} of {rows // players}"


@dataclass(frozen=True)
class PpoLearner:
    """What an update needs besides the batch.

    Attributes:
        policy: The network that is trained.
        settings: The settings of PPO.
        shuffle: Orders the minibatches; on the CPU.
    """

    policy: PpoPolicy
    gradients: GradientStep
    settings: PpoSettings
    shuffle: torch.Generator


class Coefficients(NamedTuple):
    """The values of the scheduled settings in one update."""

    entropy: float
    clip: float


@dataclass(frozen=True)
class Pass:
    """What the gradient steps of a pass over a batch read and write. What differs between passes is a tensor.

    Attributes:
        batch: The decisions of this rank.
        order: `(units,)`, the parts of the batch in their order; minibatches are adjacent ones.
        sizes: How many parts the minibatches of all ranks have.
        fresh: Whether the weights are those that acted, as a tensor without axes.
        entropy: Weight of the entropy bonus, as a tensor without axes.
        clip: `(3,)`: the bounds of the probability ratio, and their distance from 1.
        totals: `(STATISTICS,)`, sums over the gradient steps, to which the pass adds.
    """

    batch: PpoBatch
    order: Tensor
    sizes: tuple[int, ...]
    fresh: Tensor
    entropy: Tensor
    clip: Tensor
    totals: Tensor

    @classmethod
    def of(cls, batch: PpoBatch, sizes: Sequence[int], coefficients: Coefficients, *, fresh: bool) -> Pass:
        """Return that of a batch, before the first pass."""
        device, clip = batch.returns.device, coefficients.clip
        return cls(
            batch=batch,
            order=torch.zeros(batch.units, dtype=torch.int64, device=device),
            sizes=tuple(sizes),
            fresh=torch.tensor(fresh, device=device),
            entropy=torch.tensor(coefficients.entropy, dtype=torch.float32, device=device),
            clip=torch.tensor((1 - clip, 1 + clip, clip), dtype=torch.float32, device=device),
            totals=torch.zeros(len(STATISTICS), device=device),
        )


class Passes(Protocol):
    """Makes the passes of one update after the other."""

    def begin(self, learner: PpoLearner, first: Pass) -> Pass:
        """Begin an update; return the tensors that `run` works on, which contain those of `first`."""

    def run(self) -> None:
        """Make a pass, in the order that the tensors have now."""


class DirectPasses:
    """Makes each gradient step when it is asked to."""

    def begin(self, learner: PpoLearner, first: Pass) -> Pass:
        """Begin an update."""
        self._learner, self._pass = learner, first
        return first

    def run(self) -> None:
        """Make a pass."""
        take_steps(self._learner, self._pass)


def update(
    learner: PpoLearner,
    batch: PpoBatch,
    decisions: int,
    coefficients: Coefficients,
    *,
    fresh: bool = False,
    passes: Passes | None = None,
) -> Metrics:
    """Train the policy by `epochs` passes over the batch; return means over the gradient steps.

    The host waits for the device once, at the end, and once per pass if there is a `target_kl`.

    Args:
        learner: What is trained, and how.
        batch: The decisions of this rank.
        decisions: The number of decisions of all ranks.
        coefficients: Weight of the entropy bonus, and the clipping of the probability ratio.
        fresh: Whether the batch was collected with the weights that the update begins with.
        passes: Makes the passes.
    """
    settings, ranks = learner.settings, learner.gradients.ranks
    if settings.normalize_advantage and not settings.normalize_per_minibatch:
        batch = replace(batch, advantages=normalized(batch.advantages, ranks))
    # All ranks take the same number of gradient steps, even one that has fewer decisions than steps.
    count = max(1, decisions // settings.minibatch)
    count = min(count, batch.units) if batch.sequences is not None else count
    sizes = ranks.totals([len(part) for part in torch.arange(batch.units).tensor_split(count)])
    passes = passes or DirectPasses()
    work = passes.begin(learner, Pass.of(batch, sizes, coefficients, fresh=fresh))
    steps = 0
    for _ in range(settings.epochs):
        kl_before = work.totals[KL].clone()
        work.order.copy_(random_order(batch.units, learner.shuffle, batch.index.device))
        passes.run()
        work.fresh.fill_(False)
        steps += count
        limit = settings.target_kl
        if limit and ranks.any(float(work.totals[KL] - kl_before) > limit * count):
            break
    return dict(zip(STATISTICS, (work.totals / steps).tolist(), strict=True))


def take_steps(learner: PpoLearner, work: Pass) -> None:
    """Take the gradient steps of a pass."""
    settings, gradients, batch = learner.settings, learner.gradients, work.batch
    per_minibatch = settings.normalize_advantage and settings.normalize_per_minibatch
    fresh: Tensor | None = work.fresh
    for rows, size in zip(work.order.tensor_split(len(work.sizes)), work.sizes, strict=True):
        part = batch
        if per_minibatch:
            own = batch.decisions(rows)
            scaled = normalized(batch.advantages[own], gradients.ranks)
            part = replace(batch, advantages=batch.advantages.index_put((own,), scaled))
        gradient = partial(batch_gradient, learner, replace(work, batch=part), fresh)
        work.totals.add_(gradients.take(gradient, rows, size))
        fresh = None


def batch_gradient(
    learner: PpoLearner, work: Pass, fresh: Tensor | None, rows: Tensor, share: float
) -> tuple[list[Tensor], Tensor]:
    """Return the gradient of the mean loss over some decisions of the batch by each parameter, and `STATISTICS`.

    The statistics are without the gradient's norm. Only the network is differentiated by autograd: the derivatives of
    the loss are written here and in `Likelihood`, because they take autograd longer than the network.

    Args:
        fresh: In the first step of a pass, whether the weights are those that acted. Then the probability ratios are 1,
            also where a product of other sizes was rounded otherwise when acting.
        rows: The decisions, or sequences.
        share: A factor of the gradient.
    """
    policy, settings, batch = learner.policy, learner.settings, work.batch
    evaluated, rows = evaluated_units(policy, batch, rows)
    if not len(rows):  # in sequences in which no row took a decision
        zeros = torch.zeros(len(STATISTICS) - 1, device=evaluated.values.device)
        return evaluated.gradients(torch.zeros_like(evaluated.outputs), torch.zeros_like(evaluated.values)), zeros
    with torch.no_grad():
        likely = policy.distribution.likelihood(evaluated.outputs, batch.actions[rows])
        before, advantages = batch.logprobs[rows], batch.advantages[rows]
        if fresh is not None:
            before = torch.where(fresh, likely.log_probability, before)
        log_ratio = likely.log_probability - before
        low, high, distance = work.clip.unbind()
        policy_loss, of_ratios, ratio = clipped_surrogate(log_ratio, advantages, low, high)
        value_loss, of_values = value_error(evaluated.values, batch.returns[rows], huber=settings.huber_value_loss)
        each = share / len(rows)
        of_outputs = likely.slopes(of_ratios * each, work.entropy * -each)
        found = evaluated.gradients(of_outputs, of_values * (settings.value_coefficient * each))
        # The estimator k3 of http://joschu.net/blog/kl-approx.html: unbiased, never negative.
        moved = ratio - 1
        kl, clipped = (moved - log_ratio).mean(), (moved.abs() > distance).float().mean()
        return found, torch.stack((policy_loss, value_loss, likely.entropy.mean(), kl, clipped))


def evaluated_units(policy: PpoPolicy, batch: PpoBatch, units: Tensor) -> tuple[Evaluated, Tensor]:
    """Return what a policy says of the decisions in some units of a batch, and which decisions they are."""
    sequences = batch.sequences
    places = batch.index[units] if sequences is None else sequences.places[units].t().flatten()
    mask = batch.masks.index_select(0, places) if batch.masks is not None else None
    observations = batch.observations.index_select(0, places)
    if sequences is None:
        return policy.evaluated(observations, mask), units
    begins = sequences.begins[places].view(-1, len(units))
    decisions = sequences.decision[places]
    taken = decisions >= 0
    return policy.evaluated_sequences(observations, mask, sequences.memory[units], begins, taken), decisions[taken]


def clipped_surrogate(
    log_ratio: Tensor, advantages: Tensor, low: Tensor, high: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the policy loss, the negative of equation 7 of the paper; its slopes by `log_ratio`; and the ratios."""
    ratio = log_ratio.exp()
    gain, clipped = ratio * advantages, ratio.clamp(low, high) * advantages
    return -torch.minimum(gain, clipped).mean(), -gain * (gain <= clipped), ratio


def value_error(values: Tensor, returns: Tensor, *, huber: bool) -> tuple[Tensor, Tensor]:
    """Return the value loss, half the mean squared error or the Huber loss, and the slopes of its sum.

    The Huber loss has the same curvature at 0.
    """
    error = values - returns
    if huber:
        return nn.functional.smooth_l1_loss(values, returns), error.clamp(-1, 1)
    return 0.5 * error.square().mean(), error


def normalized(advantages: Tensor, ranks: Ranks) -> Tensor:
    """Return the advantages, scaled so that those of all ranks have mean 0 and standard deviation 1."""
    center, deviation = mean_and_deviation(advantages, ranks)
    return (advantages - center) / (deviation + 1e-8)


def random_order(units: int, generator: torch.Generator, device: torch.device) -> Tensor:
    """Return `0..units` in random order.

    A GPU draws the order itself, from a seed: to draw a million on the CPU and copy them takes it a tenth of an update.
    """
    if device.type == "cuda":
        seed = int(torch.randint(2**62, (), generator=generator))
        return torch.randperm(units, generator=torch.Generator(device).manual_seed(seed), device=device)
    return torch.randperm(units, generator=generator).to(device)


def explained_variance(values: Tensor, returns: Tensor, ranks: Ranks) -> float:
    """Return the share of the returns' variance that the values explain: 1 is perfect, 0 no better than their mean."""
    deviation = float(mean_and_deviation(returns, ranks)[1])
    rest = float(mean_and_deviation(returns - values, ranks)[1])
    return 1 - (rest / deviation) ** 2 if deviation > 0 else 0.0
