"""The learner of one agent, in the session's process or in one of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ...envs import Task
from ...envs.native import episode_seed
from ...envs.unknown import UNKNOWN
from ..dqn.learner import STATISTICS, QLearner
from ..nets.weights import POLICY
from ..replay.replay import Replay
from ..settings import scheduled
from ..trainer import NonFiniteWeights
from .mailbox import Sizes
from .settings import IndependentSettings


class AgentCounts(NamedTuple):
    """What an agent has counted.

    Attributes:
        updates: Gradient steps so far.
        decisions: The agent's decisions at the last of them.
        learn_from: Decisions before its first gradient step; later ones count towards the replay ratio.
        updates_before: Gradient steps that were taken before these decisions were counted.
        generator: The state of the random generator that draws transitions.
    """

    updates: int = 0
    decisions: int = 0
    learn_from: int = 0
    updates_before: int = 0
    generator: int = 0


@dataclass(frozen=True)
class AgentMetrics:
    """What an agent publishes beside its weights.

    Attributes:
        epsilon: The probability of a random action.
        loss: The loss, a mean since the last publication, as the next two.
        value_mean: The mean value of the taken actions.
        grad_norm: The norm of the gradient.
        learning_rate: The learning rate of the last gradient step.
        sample_age: How many steps ago the transitions of the last gradient step began, a mean.
        replay_missing: Transitions that could not be used because their last observation was no longer kept.
        replay_overwritten: Transitions that were drawn again because they were overwritten during the draw.
    """

    epsilon: float = 1.0
    loss: float = UNKNOWN
    value_mean: float = UNKNOWN
    grad_norm: float = UNKNOWN
    learning_rate: float = 0.0
    replay_filled: float = 0.0
    sample_age: float = UNKNOWN
    replay_missing: float = 0.0
    replay_overwritten: float = 0.0


def mailbox_sizes(tensors: Mapping[str, Tensor]) -> Sizes:
    """Return what a mailbox for an agent with these tensors contains."""
    total = sum(one.numel() for one in tensors.values())
    return Sizes(total, len(AgentCounts._fields), len(fields(AgentMetrics)))


class AgentLearner:
    """Learns for one agent: as many gradient steps as its decisions allow.

    Args:
        device: Where the networks are.
        seed: The run's seed.
        agent: The agent's number, which is that of its seat.
        lap: Called with the phase that has ended, see `QLearner`.

    Attributes:
        learner: The networks and what learns them.
        published: The metrics that were published last.
    """

    def __init__(
        self,
        task: Task,
        settings: IndependentSettings,
        device: torch.device,
        seed: int,
        agent: int,
        *,
        lap: Callable[[str], None] = lambda _phase: None,
    ) -> None:
        self._settings = settings
        self._seed = int(episode_seed(np.uint64(seed), np.uint64(agent), np.uint64(0))) >> 1
        self.learner = QLearner(task, settings.own, device, self._seed, lap=lap)
        self._counts = AgentCounts(learn_from=settings.learning_starts, generator=self._seed)
        self._sums, self._summed = np.zeros(len(STATISTICS)), 0
        self.published = AgentMetrics(epsilon=scheduled(settings.epsilon, 0))

    # -- what is published, and what checkpoints contain --------------------------------------------------------------

    def tensors(self) -> dict[str, Tensor]:
        """Return the weights, the target network and Adam's moments, not copied."""
        return self.learner.tensors()

    def weights(self) -> dict[str, Tensor]:
        """Return the weights that act, not copied."""
        return {name: value for name, value in self.tensors().items() if name.startswith(POLICY)}

    @property
    def counts(self) -> AgentCounts:
        replays = self.learner.source.replays
        generator = int(replays[-1].generator().view(np.int64)[0]) if replays else self._counts.generator
        return self._counts._replace(updates=self.learner.updates, generator=generator)

    def load(self, counts: AgentCounts, metrics: AgentMetrics) -> None:
        """Continue with these counts; the tensors were written into those of `tensors`."""
        self._counts, self.learner.updates, self.published = counts, counts.updates, metrics

    def load_tensors(self, saved: Mapping[str, Tensor]) -> None:
        """Continue with the tensors of a checkpoint.

        Raises:
            WrongCheckpoint: They are of another network.
        """
        self.learner.load_tensors(saved)

    def restart(self, counts: AgentCounts, epsilon: float) -> None:
        """Continue with the counts of a checkpoint, and with no metrics yet."""
        self.load(counts, AgentMetrics(epsilon=epsilon))

    def metrics(self) -> dict[str, float]:
        """Return the curves; those without a value yet are NaN."""
        return {**asdict(self.published), "updates": float(self.counts.updates)}

    def check_finite(self) -> None:
        """Check the tensors.

        Raises:
            NonFiniteWeights: One is NaN or infinite.
        """
        if not all(bool(value.isfinite().all()) for value in self.tensors().values()):
            raise NonFiniteWeights("an update has made weights NaN or infinite")

    def publication(self, decisions: int) -> AgentMetrics:
        """Return the metrics since the last call of this method."""
        replay, count = self.learner.source.replays[-1], self._summed
        loss, value, norm = (self._sums / count).tolist() if count else [UNKNOWN] * len(STATISTICS)
        self._sums[:], self._summed = 0, 0
        self.published = AgentMetrics(
            epsilon=scheduled(self._settings.epsilon, decisions),
            learning_rate=self.learner.learning_rate,
            loss=loss,
            value_mean=value,
            grad_norm=norm,
            replay_filled=replay.filled,
            sample_age=replay.sample_age,
            replay_missing=replay.missing,
            replay_overwritten=replay.overwritten,
        )
        return self.published

    # -- learning -----------------------------------------------------------------------------------------------------

    def open(self, replay: Replay) -> None:
        """Draw from a new replay, and from those before until it is full."""
        replay.set_generator(np.array([self.counts.generator], np.int64).view(np.uint64))
        self.learner.source.open(replay, self.learner.source.replays)

    def due(self, decisions: int) -> int:
        """Return how many gradient steps are due after so many decisions of the agent."""
        return due(self.counts, self._settings, decisions) - self.learner.updates

    def count_from(self, learn_from: int, updates_before: int) -> None:
        """Count decisions and gradient steps towards the replay ratio from there, see `AgentCounts`."""
        self._counts = self._counts._replace(learn_from=learn_from, updates_before=updates_before)

    def skip_to(self, decisions: int) -> None:
        """Count only later decisions towards the replay ratio."""
        if decisions > self._counts.learn_from:
            self._counts = self._counts._replace(learn_from=decisions, updates_before=self.learner.updates)

    def catch_up(self, decisions: int, after: Callable[[int], None] = lambda _due: None) -> None:
        """Take all gradient steps that are due.

        Args:
            decisions: The agent's decisions so far.
            after: Called after each step, with how many are still due.
        """
        counts, settings = self._counts, self._settings
        for left in reversed(range(self.due(decisions))):
            self._sums += self.learner.update(decisions)
            self._summed += 1
            stood_for = (self.learner.updates - counts.updates_before) * settings.train_frequency
            every = settings.target_update * settings.gradient_steps
            if stood_for // every > (stood_for - settings.train_frequency) // every:
                self.learner.update_target()
            self._counts = counts._replace(decisions=decisions)
            after(left)


def due(counts: AgentCounts, settings: IndependentSettings, decisions: int) -> int:
    """Return how many gradient steps an agent should have taken after so many decisions."""
    new = max(0, decisions - counts.learn_from)
    return counts.updates_before + new // settings.train_frequency * settings.gradient_steps


def learn_again(counts: AgentCounts, settings: IndependentSettings, decisions: int) -> AgentCounts:
    """Return counts with which an agent first collects `learning_starts` decisions, because its replay is empty."""
    return counts._replace(learn_from=decisions + settings.learning_starts, updates_before=counts.updates)
