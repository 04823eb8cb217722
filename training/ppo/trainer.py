"""The trainer: it collects a rollout, estimates advantages and updates the policy, again and again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from ...envs.fields import Array
from ..device import keep_memory
from ..nets.adam import Adam
from ..nets.compute_threads import ComputeThreads
from ..nets.gradient_step import GradientStep
from ..nets.policy_trainer import PolicyTrainer
from ..nets.running_moments import mean_and_deviation
from ..nets.weights import copied, load_tensors, saved_tensors
from ..settings import scheduled
from ..trainer import Context, Metrics, NonFiniteWeights
from .gae import gae
from .policy import Policy
from .reward_scale import RewardScale
from .rollout import Actor, final_values, rollout
from .settings import PpoSettings
from .storage import RolloutData, RolloutStorage
from .update import STATISTICS, Coefficients, NonFiniteRollout, PpoBatch, PpoLearner, explained_variance, update

SHUFFLE = "generator.shuffle"
REWARD_SUMS = "reward_sums"


class PPO(PolicyTrainer[Policy]):
    """PPO with action masks.

    Attributes:
        decisions: Decisions of active rows that were learned from so far.
        updates: Updates so far.
        steps: Steps of each environment so far, without those of rollouts that were discarded.
    """

    def __init__(self, context: Context) -> None:
        self._settings = PpoSettings.read("ppo", context.settings)
        device = torch.device(context.device)
        keep_memory()
        threads = ComputeThreads(device, self._settings.threads)
        self._shuffle = torch.Generator().manual_seed(context.seed)
        policy = Policy(context.task, self._settings, self._shuffle)
        super().__init__(context, policy, policy.distribution)
        self._storage: RolloutStorage | None = None
        self._actor = Actor(self.policy, threads)
        self._adam = Adam(self.policy, fused=device.type in {"cpu", "cuda"})
        gradients = GradientStep(
            self._adam,
            threads,
            context.ranks,
            rows_at_once=self.policy.network.rows_at_once,
            max_norm=self._settings.max_grad_norm,
            statistics=len(STATISTICS) - 1,
        )
        self._learner = PpoLearner(self.policy, gradients, self._settings, self._shuffle)
        moments = self.policy.rewards
        self._reward_scale = None if moments is None else RewardScale(moments, self._settings.gamma)
        self.decisions = 0
        self.updates = 0
        self.steps = 0
        self._has_rollout = False
        self._shuffle_state = self._shuffle.get_state()

    def start(self, num_envs: int) -> None:
        """Make the environments and start an episode in each."""
        rows = num_envs * self._context.task.players * self._context.ranks.size
        buffer = self._open(num_envs, self._settings.steps(rows) + 1)
        self._storage = RolloutStorage(self._context.task, buffer)
        self._has_rollout = False

    def iterate(self) -> Metrics:
        """Collect a rollout and learn from it."""
        assert self._envs is not None
        assert self._storage is not None
        assert self._noise is not None
        timer = self._context.timer
        if self._has_rollout:
            self._envs.carry()
        self._has_rollout = True
        timer.lap("python")
        uniform = self._noise.uniform(self.steps, self._storage.steps)
        rollout(self._actor, self._envs, self._storage, uniform, timer=timer, on_decision=self._on_decision)
        finals = final_values(self.policy, self._storage)
        timer.lap("inference")
        metrics = self._learn(self._storage.data(), finals)
        self.steps += self._storage.steps
        self._shuffle_state = self._shuffle.get_state()
        timer.lap("learner")
        return metrics

    def _on_decision(self, outputs: Tensor, values: Tensor) -> None:
        self.decided = outputs, values

    def values(self, slots: slice) -> Array | None:
        """Return the values of the observations of some slots, `(slots, R)`."""
        return None if self._storage is None else (self._storage.values[slots] * self.value_unit).cpu().numpy()

    def close(self) -> None:
        """Release the buffer and close the environments."""
        self._storage = None
        super().close()

    def _learn(self, data: RolloutData, finals: Tensor) -> Metrics:
        settings, ranks = self._settings, self._context.ranks
        rewards, scale = data.rewards, self._reward_scale
        if scale is not None and not ranks.any(not bool(rewards.isfinite().all())):
            rewards = scale.apply(rewards, data.terminated | data.truncated, ranks)
        discounts = torch.full_like(data.rewards, settings.gamma)
        if settings.gamma_per_frame:
            discounts = discounts.pow(data.frames)
        advantages, returns = gae(
            rewards=rewards,
            values=data.values,
            terminated=data.terminated,
            truncated=data.truncated,
            active=data.active,
            final_values=finals,
            discounts=discounts,
            gae_lambda=settings.gae_lambda,
        )
        batch = PpoBatch.of(data, advantages, returns)
        fault = batch.fault(data)
        moments = self.policy.observations
        seen = self.policy.decode(data.observations[batch.index]) if moments is not None else None
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
        metrics = update(self._learner, batch, decisions, coefficients)
        if moments is not None and seen is not None:
            moments.add(seen, ranks)
        self.decisions += decisions
        self.updates += 1
        values = batch.returns - batch.advantages
        return metrics | {
            "explained_variance": explained_variance(values, batch.returns, ranks),
            "value_mean": float(mean_and_deviation(values, ranks)[0] * self.value_unit),
            "learning_rate": self._adam.learning_rate,
            "entropy_coefficient": coefficients.entropy,
            "clip": coefficients.clip,
            "decisions": float(self.decisions),
            "updates": float(self.updates),
            **({} if scale is None else {"reward_scale": float(self.value_unit)}),
        }

    @property
    def value_unit(self) -> float | Tensor:
        """What one unit of a value is in the environment's rewards."""
        return self.policy.value_unit

    def resize(self, num_envs: int) -> None:
        """Continue with another number of environments, whose episodes restart."""
        if self._reward_scale is not None:
            self._reward_scale.sums = None
        super().resize(num_envs)

    def state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return copies of the weights, Adam's moments and the state of the shuffling generator, and the counters.

        All are those of the end of the last iteration: a discarded rollout changes nothing.

        Raises:
            NonFiniteWeights: A weight is NaN or infinite.
        """
        if not all(bool(weight.isfinite().all()) for weight in self.policy.state_dict().values()):
            raise NonFiniteWeights("an update has made weights NaN or infinite")
        tensors = saved_tensors(self.policy, self._adam) | {SHUFFLE: copied(self._shuffle_state)}
        if self._reward_scale is not None and self._reward_scale.sums is not None:
            tensors[REWARD_SUMS] = copied(self._reward_scale.sums)
        return tensors, {"decisions": self.decisions, "updates": self.updates, "steps": self.steps}

    def load_state(self, tensors: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        """Continue from what `state` returned.

        Version 0.1.0 saved a generator per thread for actions, and no steps. Its checkpoints load; the actions that
        follow are drawn as if the environments had made no steps yet.

        Raises:
            WrongCheckpoint: It is of another network.
        """
        saved = {name: torch.as_tensor(tensor) for name, tensor in tensors.items()}
        load_tensors(self.policy, self._adam, saved)
        self._shuffle.set_state(saved[SHUFFLE])
        self._shuffle_state = self._shuffle.get_state()
        if self._reward_scale is not None and REWARD_SUMS in saved:
            self._reward_scale.sums = saved[REWARD_SUMS].to(self._context.device)
        self.decisions, self.updates = int(data["decisions"]), int(data["updates"])
        self.steps = int(data.get("steps", 0))
