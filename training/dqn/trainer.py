"""The trainer: it acts epsilon-greedily in a ring of slots and learns from transitions drawn from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...envs.fields import DECIDES, Array
from ..replay.replay import Replay
from ..settings import scheduled
from ..trainer import Context, Envs, Metrics, NonFiniteWeights, PolicyOutput
from .learner import STATISTICS, QLearner
from .networks import QNetwork, epsilon_greedy, q_output, shows_quantiles
from .ring_trainer import RingTrainer
from .settings import DqnSettings, IqnSettings, QLearningSettings

MISSING = 0.01
"""The share of transitions that were drawn and could not be used from which on a sentence says so."""


class DQN(RingTrainer):
    """Deep Q-learning with a target network, for tasks whose actions are single choices.

    Attributes:
        name: Its name in `trainers.py`.
        learner: The networks and what learns them.
        decisions: Decisions collected so far.
        steps: Steps of each environment so far.
    """

    name = "dqn"
    settings: type[QLearningSettings] = DqnSettings

    def __init__(self, context: Context) -> None:
        settings = self.settings.read(self.name, context.settings)
        super().__init__(context, settings, self.name)
        self.learner = QLearner(context.task, settings, self._device, context.seed, ranks=context.ranks)
        self.decisions = 0
        self._q: Tensor | None = None
        self._quantiles: Tensor | None = None
        self._epsilon = 1.0
        self._learn_from: float = settings.learning_starts
        self._older: list[Replay] = []
        self._warned = False

    @property
    def policy(self) -> QNetwork:
        return self.learner.online

    def _new_replay(self, envs: Envs) -> Replay:
        return Replay(self._context.task, envs.buffer, self._ring, self._context.seed + self.steps)

    def _learn_from_replay(self, head: int) -> None:  # noqa: ARG002 - the replay has restored its own priorities
        assert self._replay is not None
        self.learner.learn_from(self._replay, self._older)
        self._older = []

    def _count_from_here(self) -> None:
        self._learn_from = self.decisions + self._settings.learning_starts

    def iterate(self) -> Metrics:
        """Collect about 512 decisions, with an update after every `train_frequency` of them."""
        assert self._envs is not None
        assert self._noise is not None
        settings, timer, replay = self._settings, self._context.timer, self._open_replay()
        timer.lap("python")
        noise = self._noise.uniform(self.steps, self._iteration)
        first, sums = self.learner.updates, np.zeros(len(STATISTICS))
        for step in range(self._iteration):
            slot = self._envs.order.newest
            decided = self._act(slot, noise[step])
            timer.lap("inference")
            self._envs.advance(slot)
            replay.add()
            before, self.decisions = self.decisions, self.decisions + decided
            timer.lap("python")
            if self.decisions >= self._learn_from:
                for _ in range(self._due(settings.train_frequency, before) * settings.gradient_steps):
                    sums += self.learner.update(self.decisions)
                if self._due(settings.target_update, before):
                    self.learner.update_target()
                timer.lap("learner")
        self.steps += self._iteration
        self._mark()
        self._warn_of_missing(replay)
        return self._figures(sums, self.learner.updates - first, replay)

    def _warn_of_missing(self, replay: Replay) -> None:
        """Say once that many transitions cannot be used."""
        drawn = self.learner.updates * self._settings.batch + replay.missing
        if not self._warned and replay.missing > MISSING * drawn:
            self._warned = True
            self._context.notify(
                f"{100 * replay.missing / drawn:.0f} % of the drawn transitions cannot be used: many short episodes "
                "are truncated, and not all last observations are kept. A replay of at most 64 MiB keeps all"
            )

    @torch.inference_mode()
    def _act(self, slot: int, noise: Tensor) -> int:
        """Write the actions of all rows into a slot; return how many rows decide."""
        assert self._envs is not None
        assert self._replay is not None
        buffer = self._envs.buffer
        observation = torch.from_numpy(self._replay.newest()).to(self._device)
        mask = torch.from_numpy(buffer["action_mask"][slot]).to(self._device) if self._context.task.masked else None
        self._q, self._quantiles = values, _ = self.policy.values(self.policy.features(observation), mask)
        self._epsilon = self._exploration()
        actions = epsilon_greedy(values, self.policy, mask, noise, self._epsilon)
        buffer["action"][slot] = actions.cpu().numpy()
        return int(np.count_nonzero(buffer["active"][slot] == DECIDES))

    def _exploration(self) -> float:
        return scheduled(self._settings.epsilon, self.decisions)

    def _due(self, every: int, before: int) -> int:
        """Return how often a number of decisions was completed since there were `before`."""
        return self.decisions // every - before // every

    def _figures(self, sums: Array, count: int, replay: Replay) -> Metrics:
        """Return the curves, from the sums of the statistics of `count` gradient steps."""
        learned = dict(zip(STATISTICS, sums / count, strict=True)) | {"sample_age": replay.sample_age} if count else {}
        return {
            **{name: float(value) for name, value in learned.items()},
            "epsilon": self._epsilon,
            "learning_rate": self.learner.learning_rate,
            "replay_filled": replay.filled,
            "replay_missing": float(replay.missing),
            "decisions": float(self.decisions),
            "updates": float(self.learner.updates),
        }

    def inspect(self, row: int) -> PolicyOutput | None:
        """Return the policy's output for a row at its last decision: the best actions with values and probabilities."""
        if self._q is None or row >= len(self._q):
            return None
        spread = None if self._quantiles is None else self._quantiles[row]
        return q_output(self._q[row], self._epsilon, spread if shows_quantiles(self._settings) else None)

    def _mark(self) -> None:
        assert self._replay is not None
        self._end = {
            "tensors": self.learner.state(),
            "data": {"decisions": self.decisions, "updates": self.learner.updates, "steps": self.steps},
            "replay": self._replay.mark() if self._settings.save_replay else None,
        }

    def state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return weights, target network, Adam's moments, random generator and counters, and the replay if it is saved.

        Raises:
            NonFiniteWeights: A weight is NaN or infinite.
        """
        if not self._end:  # no iteration has begun
            self._open_replay()
        tensors = dict(self._end["tensors"])
        if not all(bool(value.isfinite().all()) for value in tensors.values() if value.is_floating_point()):
            raise NonFiniteWeights("an update has made weights NaN or infinite")
        return tensors | self._replay_tensors(), self._end["data"]

    def load_state(self, tensors: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        """Continue from what `state` returned; without a saved replay, collect `learning_starts` decisions first.

        Raises:
            WrongCheckpoint: It is of another network.
        """
        saved = {name: torch.as_tensor(tensor) for name, tensor in tensors.items()}
        self.learner.load_state(saved)
        self.decisions, self.learner.updates, self.steps = (
            int(data[name]) for name in ("decisions", "updates", "steps")
        )
        self._load_replay(saved)

    def detach(self) -> None:
        """Release the replay, which is also sampled until that of other environments is full."""
        self._older = self._older or self.learner.replays
        self._release()

    def close(self) -> None:
        """Release all replays."""
        self._older = []
        self._release()

    def _release(self) -> None:
        self._q = self._quantiles = None
        self.learner.release()
        super().detach()


class IQN(DQN):
    """Implicit quantile networks (Dabney et al., 2018): DQN whose network learns the distribution of the return."""

    name = "iqn"
    settings = IqnSettings
