"""Learns from rollouts: advantages, the update, normalization, and their state in a checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from ..nets.compute_threads import ComputeThreads
from ..nets.gradient_step import GradientStep
from ..nets.running_moments import LIMIT, ImageMoments, RunningMoments, mean_and_deviation
from ..nets.weights import Adam, copied, load_tensors, saved_tensors
from ..ranks import RankLost, Ranks
from ..settings import scheduled
from ..trainer import Metrics, NonFiniteWeights
from .gae import gae, step_discounts
from .policy import PpoPolicy
from .settings import PpoSettings
from .storage import RolloutData, RolloutStorage
from .update import STATISTICS, Coefficients, NonFiniteRollout, Passes, PpoBatch, PpoLearner, explained_variance, update


class RewardScale:
    """The discounted sum of rewards in each row since its episode began, and the moments of these sums.

    The sums run forward in time, as in `VecNormalize` of Stable-Baselines3, and only set the scale: rewards keep their
    sign, and no mean is subtracted.

    Attributes:
        sums: `(R,)` after the last step; None before the first rollout of this number of rows.
    """

    def __init__(self, moments: RunningMoments) -> None:
        self.sums: Tensor | None = None
        self._moments = moments

    @torch.no_grad()
    def apply(self, rewards: Tensor, discounts: Tensor, ended: Tensor, ranks: Ranks) -> Tensor:
        """Add the rewards `(T, R)` of a rollout to the moments; return them divided by the deviation, and clipped.

        Args:
            rewards: Finite rewards.
            discounts: `(T, R)`, as for the returns.
            ended: `(T, R)` bool, where an episode ended with the reward.
            ranks: Share the moments.
        """
        if self.sums is None or self.sums.shape != rewards.shape[1:]:
            self.sums = torch.zeros_like(rewards[0])
        sums, discounted = self.sums, torch.empty_like(rewards)
        for step, (reward, discount, end) in enumerate(zip(rewards, discounts, ended, strict=True)):
            sums = sums * discount + reward
            discounted[step] = sums
            sums = sums.masked_fill(end, 0.0)
        self.sums = sums
        self._moments.add(discounted.flatten(), ranks)
        return (rewards / self._moments.deviation).clamp(-LIMIT, LIMIT)


SHUFFLE = "generator.shuffle"
REWARD_SUMS = "reward_sums"
COUNTED_IMAGES = 64
"""About how many images per update contribute to the moments. All of them would take as long as an epoch."""


@dataclass(frozen=True)
class Rollout:
    """A rollout that was collected.

    Attributes:
        final_values: `(T, R)`, the values of last observations where episodes were truncated.
        version: How many updates the policy that acted had.
    """

    storage: RolloutStorage
    final_values: Tensor
    version: int


class RolloutLearner:
    """Trains a policy on one rollout after the other.

    Args:
        policy: The policy that is trained, on its device.
        settings: The settings of PPO.
        threads: Compute the gradients.
        ranks: The processes that learn together.
        shuffle: Orders the minibatches; on the CPU.

    Attributes:
        decisions: Decisions of active rows that were learned from so far.
        updates: Updates so far.
        passes: What makes the passes of updates; None to make each gradient step by itself.
    """

    def __init__(
        self, policy: PpoPolicy, settings: PpoSettings, threads: ComputeThreads, ranks: Ranks, shuffle: torch.Generator
    ) -> None:
        device = next(policy.parameters()).device
        self.policy = policy
        self.decisions = 0
        self.updates = 0
        self._settings, self._ranks, self._shuffle = settings, ranks, shuffle
        self._adam = Adam(policy, fused=device.type in {"cpu", "cuda"})
        gradients = GradientStep(
            self._adam,
            threads,
            ranks,
            rows_at_once=policy.network.rows_at_once,
            max_norm=settings.max_grad_norm,
            statistics=len(STATISTICS) - 1,
        )
        self._learner = PpoLearner(policy, gradients, settings, shuffle)
        self.passes: Passes | None = None
        self._reward_scale = None if policy.rewards is None else RewardScale(policy.rewards)
        self._shuffle_state = shuffle.get_state()

    def learn(self, rollout: Rollout) -> Metrics:
        """Train on a rollout; return the metrics of the update, which are empty if no row took a decision.

        Raises:
            NonFiniteRollout: A number in it is NaN or infinite; nothing was learned from it.
        """
        settings, ranks = self._settings, self._ranks
        data = rollout.storage.data()
        advantages, returns = self._advantages(data, rollout.final_values)
        batch = PpoBatch.of(data, advantages, returns, settings.sequence if settings.memory else 0)
        fault = batch.fault(data, rollout.storage.players)
        moments = self.policy.observations
        seen = self.policy.decode(data.observations[_counted(batch.index, moments)]) if moments is not None else None
        if seen is not None and not bool(seen.isfinite().all()):
            fault = fault or "an observation is NaN or infinite; nothing was learned from its rollout"
        decisions, faults = ranks.totals((len(batch.index), bool(fault)))
        if faults:
            raise NonFiniteRollout(fault or "a number is NaN or infinite in the rollout of another process")
        if not decisions:
            return {}
        self._adam.learning_rate = scheduled(settings.learning_rate, self.decisions)
        coefficients = Coefficients(
            entropy=scheduled(settings.entropy_coefficient, self.decisions),
            clip=scheduled(settings.clip, self.decisions),
        )
        lag = {"policy_lag": float(self.updates - rollout.version)} if settings.overlap else {}
        before = self.state() if ranks.size > 1 else None
        try:
            fresh = self.updates == rollout.version
            metrics = lag | update(self._learner, batch, decisions, coefficients, fresh=fresh, passes=self.passes)
            if moments is not None and seen is not None:
                moments.add(seen, ranks)
        except RankLost:
            assert before is not None
            self.load_state({name: torch.as_tensor(tensor) for name, tensor in before[0].items()}, before[1])
            raise
        self.decisions += decisions
        self.updates += 1
        self._shuffle_state = self._shuffle.get_state()
        return metrics | self._metrics(batch, coefficients)

    def _advantages(self, data: RolloutData, final_values: Tensor) -> tuple[Tensor, Tensor]:
        settings, ranks = self._settings, self._ranks
        rewards, scale = data.rewards, self._reward_scale
        discounts = step_discounts(data.frames, data.active, settings.gamma, per_frame=settings.gamma_per_frame)
        if scale is not None and not ranks.any(not bool(rewards.isfinite().all())):
            rewards = scale.apply(rewards, discounts, data.terminated | data.truncated, ranks)
        return gae(
            rewards=rewards,
            values=data.values,
            terminated=data.terminated,
            truncated=data.truncated,
            active=data.active,
            out=data.out,
            final_values=final_values,
            discounts=discounts,
            gae_lambda=settings.gae_lambda,
        )

    def _metrics(self, batch: PpoBatch, coefficients: Coefficients) -> Metrics:
        values, unit = batch.returns - batch.advantages, self.policy.value_unit
        return {
            "advantage_deviation": float(mean_and_deviation(batch.advantages, self._ranks)[1]),
            "return_deviation": float(mean_and_deviation(batch.returns, self._ranks)[1]),
            "explained_variance": explained_variance(values, batch.returns, self._ranks),
            "value_mean": float(mean_and_deviation(values, self._ranks)[0] * unit),
            "learning_rate": self._adam.learning_rate,
            "entropy_coefficient": coefficients.entropy,
            "clip": coefficients.clip,
            "decisions": float(self.decisions),
            "updates": float(self.updates),
            **({} if self._reward_scale is None else {"reward_scale": float(unit)}),
        }

    def change_settings(self, settings: PpoSettings) -> None:
        """Use other settings from the next rollout on."""
        self._settings = settings
        gradients = replace(self._learner.gradients, max_norm=settings.max_grad_norm)
        self._learner = replace(self._learner, gradients=gradients, settings=settings)

    def restart_episodes(self) -> None:
        """Note that the episodes of all environments restart, and their number may change."""
        if self._reward_scale is not None:
            self._reward_scale.sums = None

    def state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return copies of the weights, Adam's moments and the state of the shuffling generator, and the counters.

        Raises:
            NonFiniteWeights: A weight is NaN or infinite.
        """
        if not all(bool(weight.isfinite().all()) for weight in self.policy.state_dict().values()):
            raise NonFiniteWeights("an update has made weights NaN or infinite")
        tensors = saved_tensors(self.policy, self._adam) | {SHUFFLE: copied(self._shuffle_state)}
        if self._reward_scale is not None and self._reward_scale.sums is not None:
            tensors[REWARD_SUMS] = copied(self._reward_scale.sums)
        return tensors, {"decisions": self.decisions, "updates": self.updates}

    def load_state(self, tensors: Mapping[str, Tensor], data: Mapping[str, Any]) -> None:
        """Continue from what `state` returned.

        Raises:
            WrongCheckpoint: It is of another network.
        """
        load_tensors(self.policy, self._adam, tensors)
        self._shuffle.set_state(tensors[SHUFFLE])
        self._shuffle_state = self._shuffle.get_state()
        if self._reward_scale is not None and REWARD_SUMS in tensors:
            self._reward_scale.sums = tensors[REWARD_SUMS].to(next(self.policy.parameters()).device)
        self.decisions, self.updates = int(data["decisions"]), int(data["updates"])


def _counted(index: Tensor, moments: RunningMoments) -> Tensor:
    """Return the places of the decisions whose observations change the moments."""
    if not isinstance(moments, ImageMoments):
        return index
    return index[:: len(index) // COUNTED_IMAGES | 1]  # an odd step, so that they are of all rows
