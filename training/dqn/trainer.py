"""The trainer: it acts epsilon-greedily in a ring of slots and learns from transitions drawn from it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...backends.system.segment import human_bytes
from ...envs import BadParameter
from ...envs.fields import DECIDES, Array
from ..device import keep_memory
from ..nets.action_noise import ActionNoise
from ..replay.replay import Replay
from ..settings import scheduled
from ..trainer import Context, Envs, Metrics, NonFiniteWeights, PolicyOutput, Trainer
from .acting import epsilon_greedy, q_output, shows_quantiles
from .learner import STATISTICS, QLearner, replay_settings
from .networks import QNetwork
from .settings import DqnSettings, IqnSettings, QLearningSettings

DECISIONS_PER_ITERATION = 512
REPLAY = "replay."
RANDOM_NUMBERS = 2
"""Random numbers of an action: whether to explore, and which action."""


class DQN(Trainer):
    """Deep Q-learning with a target network, for tasks whose actions are single choices.

    Attributes:
        name: Its name in `trainers.py`.
        settings: Its settings.
        learner: The networks and what learns them.
        decisions: Decisions collected so far.
        steps: Steps of each environment so far.
    """

    name = "dqn"
    settings: type[QLearningSettings] = DqnSettings

    def __init__(self, context: Context) -> None:
        self._context = context
        self._settings = settings = self.settings.read(self.name, context.settings)
        self._device = torch.device(context.device)
        if context.task.bounds or context.task.choices:
            raise BadParameter(f"{self.name} needs one choice per decision; train tasks with other actions with ppo")
        if context.ranks.size > 1:
            raise BadParameter(f"{self.name} runs in one process; train in several with ppo")
        keep_memory()
        self.learner = QLearner(context.task, settings, self._device, context.seed, ranks=context.ranks)
        self.decisions = self.steps = 0
        self._envs: Envs | None = None
        self._replay: Replay | None = None
        self._noise: ActionNoise | None = None
        self._q: Tensor | None = None
        self._quantiles: Tensor | None = None
        self._epsilon = 1.0
        self._learn_from: float = settings.learning_starts
        self._end: dict[str, Any] = {}
        self._saved_replay: dict[str, Array] = {}
        self._older: list[Replay] = []

    @property
    def policy(self) -> QNetwork:
        """The network that acts."""
        return self.learner.online

    def start(self, num_envs: int) -> None:
        """Make the environments over a ring and start an episode in each."""
        context, settings = self._context, self._settings
        rows = num_envs * context.task.players
        self._iteration = math.ceil(DECISIONS_PER_ITERATION / rows)
        replay = replay_settings(settings, settings.replay_size, self._iteration if settings.save_replay else 0)
        self._envs = context.make_envs(num_envs, replay.slots(rows), ring=True)
        self._envs.start(0)
        self._replay_settings = replay
        self._noise = ActionNoise(
            context.seed,
            first_env=context.ranks.first_env(num_envs),
            num_envs=num_envs,
            players=context.task.players,
            numbers=RANDOM_NUMBERS,
            device=self._device,
        )

    def _open_replay(self) -> Replay:
        """Return the replay; at the first step, when a session has restored the environments or not."""
        if self._replay is None:
            assert self._envs is not None
            self._replay = Replay(
                self._context.task, self._envs.buffer, self._replay_settings, self._context.seed + self.steps
            )
            self._replay.add()
            if self._saved_replay:
                self._restore_replay(self._replay, self._saved_replay)
            self._saved_replay = {}
            self.learner.learn_from(self._replay, self._older)
            self._older = []
            if self._settings.save_replay:
                self._context.notify(f"each checkpoint contains the replay, up to {human_bytes(self._replay.size())}")
            self._mark()
        return self._replay

    def _restore_replay(self, replay: Replay, saved: dict[str, Array]) -> None:
        """Continue with a saved replay, or without it if it does not fit, such as one of another N."""
        try:
            replay.load_state(saved)
        except BadParameter as error:
            self._collect_first(str(error))

    def _collect_first(self, reason: str) -> None:
        """Learn only after `learning_starts` further decisions."""
        self._learn_from = self.decisions + self._settings.learning_starts
        self._context.notify(f"{reason}: learning continues after learning_starts decisions")

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
        return self._figures(sums, self.learner.updates - first, replay)

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
        """Return the probability of a random action."""
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
        """Keep what a checkpoint contains: the state at the end of an iteration."""
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
        if self._settings.save_replay and self._replay is not None:
            saved = self._replay.state(self._end["replay"])
            tensors |= {REPLAY + name: torch.from_numpy(array) for name, array in saved.items()}
        return tensors, self._end["data"]

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
        self._saved_replay = replay = {
            name.removeprefix(REPLAY): value.numpy() for name, value in saved.items() if name.startswith(REPLAY)
        }
        if not replay:
            self._collect_first("the checkpoint contains no replay")

    def resize(self, num_envs: int) -> None:
        """Continue with another number of environments; the old replay is also sampled until the new one is full."""
        older = self._older or self.learner.replays
        try:
            super().resize(num_envs)
        finally:
            self._older = older

    def close(self) -> None:
        """Close the environments and release the replay."""
        self._q = self._quantiles = self._replay = None
        self._older = []
        self.learner.release()
        if self._envs is not None:
            self._envs.close()
            self._envs = None


class IQN(DQN):
    """Implicit quantile networks (Dabney et al., 2018): DQN whose network learns the distribution of the return."""

    name = "iqn"
    settings = IqnSettings
