"""The base class of trainers that act and learn by turns, from transitions drawn from the ring."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from ...envs.fields import DECIDES, Array
from ..nets.weights import POLICY, load_weights
from ..trainer import Context, Envs, Metrics, NonFiniteWeights
from .replay import Replay
from .ring_trainer import RingTrainer
from .source import ReplaySource
from .trainer_settings import ReplayTrainerSettings

MISSING = 0.01
"""The share of transitions that were drawn and could not be used from which on a sentence says so."""
KEPT = 1_024
"""Decisions that the ring of a player keeps: only the newest observations are needed."""


class ReplayLearner(Protocol):
    """What learns from a replay. It neither acts nor knows the environments.

    Attributes:
        statistics: The names of what a gradient step returns.
        source: Where it draws transitions from.
        updates: Gradient steps so far.
    """

    statistics: tuple[str, ...]
    source: ReplaySource
    updates: int

    @property
    def learning_rate(self) -> float:
        """The learning rate of the last gradient step."""

    def update(self, decisions: int) -> Array:
        """Take a gradient step after so many decisions; return the `statistics`."""

    def change_settings(self, settings: Any) -> None:
        """Use other settings from the next gradient step on."""

    def state(self) -> dict[str, Tensor]:
        """Return copies of what was learned and of the state of the random generator."""

    def load_state(self, tensors: Mapping[str, Tensor]) -> None:
        """Continue from what `state` returned.

        Raises:
            WrongCheckpoint: It is of another network.
        """


class ReplayTrainer(RingTrainer):
    """A trainer that takes gradient steps after every `train_frequency` decisions.

    Attributes:
        learner: What learns.
        decisions: Decisions collected so far.
        steps: Steps of each environment so far.
    """

    learner: ReplayLearner

    def __init__(self, context: Context, settings: ReplayTrainerSettings, name: str) -> None:
        super().__init__(context, settings, name)
        self.decisions = 0
        self._learn_from: float = settings.learning_starts
        self._older: list[Replay] = []
        self._warned = False

    @property
    @abstractmethod
    def policy(self) -> nn.Module:
        """The network that acts."""

    @abstractmethod
    def _act(self, slot: int, noise: Tensor) -> None:
        """Write the actions of all rows into a slot; `noise` is `(rows, numbers)`, uniform in (0, 1]."""

    def _after_updates(self, before: int) -> None:
        """Do what is due after `before` and more decisions, beside gradient steps."""

    def _own_figures(self) -> Metrics:
        """Return curves of the algorithm that are no statistics of gradient steps."""
        return {}

    def _stack_before(self, row: int, observation: Array) -> Array | None:
        """Return the frames before a row's newest observation in its stack, `(k - 1, *stored_shape)`; None if unknown.

        A step is followed before it is added to the replay, whose newest stack then is the one before.
        """
        frames = self._settings.frame_stack
        if frames == 1:
            return observation[None][:0]
        if self._envs is None or self._replay is None:
            return None
        stack: Array = self._replay.newest()[row]
        if np.array_equal(stack[-1], observation):
            return stack[:-1].copy()
        buffer, slot = self._envs.buffer, self._envs.order.newest
        if buffer["terminated"][slot, row] or buffer["truncated"][slot, row]:
            return observation[None].repeat(frames - 1, axis=0)
        return stack[1:].copy()

    def _new_replay(self, envs: Envs) -> Replay:
        return Replay(self._context.task, envs.buffer, self._ring, self._context.seed + self.steps)

    def _learn_from_replay(self, head: int) -> None:  # noqa: ARG002 - the replay has restored its own priorities
        assert self._replay is not None
        self.learner.source.open(self._replay, self._older)
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
        first, sums = self.learner.updates, np.zeros(len(self.learner.statistics))
        active = self._envs.buffer["active"]
        for step in range(self._iteration):
            slot = self._envs.order.newest
            self._act(slot, noise[step])
            decided = int(np.count_nonzero(active[slot] == DECIDES))
            timer.lap("inference")
            self._envs.advance(slot)
            replay.add()
            before, self.decisions = self.decisions, self.decisions + decided
            timer.lap("python")
            if self.decisions >= self._learn_from:
                for _ in range(self._due(settings.train_frequency, before) * settings.gradient_steps):
                    sums += self.learner.update(self.decisions)
                self._after_updates(before)
                timer.lap("learner")
        self.steps += self._iteration
        self._mark()
        self._warn_of_missing(replay)
        return self._metrics(sums, self.learner.updates - first, replay)

    def _warn_of_missing(self, replay: Replay) -> None:
        """Say once that many transitions cannot be used."""
        drawn = self.learner.updates * self._settings.batch + replay.missing
        if not self._warned and replay.missing > MISSING * drawn:
            self._warned = True
            self._context.notify(
                f"{100 * replay.missing / drawn:.0f} % of the drawn transitions cannot be used: many short episodes "
                "are truncated, and not all last observations are kept. A replay of at most 64 MiB keeps all"
            )

    def _due(self, every: int, before: int) -> int:
        """Return how often a number of decisions was completed since there were `before`."""
        return self.decisions // every - before // every

    def _metrics(self, sums: Array, count: int, replay: Replay) -> Metrics:
        """Return the curves, from the sums of the statistics of `count` gradient steps."""
        means = dict(zip(self.learner.statistics, sums / count, strict=True)) if count else {}
        learned = means | {"sample_age": replay.sample_age} if count else {}
        return {
            **{name: float(value) for name, value in learned.items()},
            **self._own_figures(),
            "learning_rate": self.learner.learning_rate,
            "replay_filled": replay.filled,
            "replay_missing": float(replay.missing),
            "decisions": float(self.decisions),
            "updates": float(self.learner.updates),
        }

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
        tensors, data = self._learned()
        return tensors | self._replay_tensors(), data

    def policy_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return copies of the weights of `policy`, and counters.

        Raises:
            NonFiniteWeights: A weight is NaN or infinite.
        """
        tensors, data = self._learned()
        return {name: value for name, value in tensors.items() if name.startswith(POLICY)}, data

    def _learned(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return what `state` returns without the replay."""
        if not self._end:  # no iteration has begun
            self._open_replay()
        tensors: dict[str, Tensor] = self._end["tensors"]
        if not all(bool(value.isfinite().all()) for value in tensors.values() if value.is_floating_point()):
            raise NonFiniteWeights("an update has made weights NaN or infinite")
        return dict(tensors), self._end["data"]

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

    def change_settings(self, settings: Mapping[str, Any]) -> None:
        """Use other settings from now on."""
        self._settings = type(self._settings).model_validate(settings)
        self.learner.change_settings(self._settings)
        for replay in self.learner.source.replays:
            replay.change_gamma(self._settings.gamma)

    def detach(self) -> None:
        """Release the replay, which is also sampled until that of other environments is full."""
        self._older = self._older or self.learner.source.replays
        self._release()

    def close(self) -> None:
        """Release all replays."""
        self._older = []
        self._release()

    def _release(self) -> None:
        self.learner.source.release()
        super().detach()


class Player(ReplayTrainer):
    """What makes a trainer a player: it only plays, always the best action or as at the end of the training.

    It comes before the trainer among the base classes of a player.
    """

    def __init__(self, context: Context, greedy: bool = True) -> None:
        own = {"replay_size": KEPT, "learning_starts": 0, "save_replay": False}
        super().__init__(replace(context, settings={**context.settings, **own}))  # type: ignore[call-arg]
        self._greedy = greedy
        self._learn_from = math.inf

    def _capacity(self, rows: int) -> int:
        return max(KEPT, rows * KEPT // 16)

    def load_state(self, tensors: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        """Play with the weights of a training's state, exploring as at its end if not greedy.

        Raises:
            WrongCheckpoint: They are weights of another network.
        """
        load_weights(self.policy, {name: torch.as_tensor(tensor) for name, tensor in tensors.items()}, POLICY)
        self.decisions = int(data["decisions"])
