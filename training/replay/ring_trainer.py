"""The base class of trainers whose environments write a ring of slots that is also the replay."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from ...backends.system.segment import human_bytes
from ...envs import BadParameter
from ...envs.fields import Array
from ..device import keep_memory
from ..nets.distribution import ActionNoise
from ..trainer import BufferSpec, Context, Envs, Trainer
from .priorities import PrioritySettings
from .replay import Replay
from .settings import ReplaySettings
from .trainer_settings import ReplayTrainerSettings

DECISIONS_PER_ITERATION = 512
REPLAY = "replay."


def replay_settings(settings: ReplayTrainerSettings, capacity: int, spare: int) -> ReplaySettings:
    """Return how transitions are found and drawn.

    Args:
        capacity: Transitions to keep.
        spare: Positions that may be written meanwhile, see `ReplaySettings`.
    """
    return ReplaySettings(
        capacity,
        steps=settings.n_step,
        stack=settings.frame_stack,
        gamma=settings.gamma,
        gamma_per_frame=settings.gamma_per_frame,
        spare=spare,
        priorities=None if settings.priorities is None else PrioritySettings(*settings.priorities),
    )


class RingTrainer(Trainer):
    """Opens the ring, restores a saved replay in it, and saves it.

    Args:
        context: What the session gives.
        name: The trainer's name, for errors.

    Attributes:
        steps: Steps of each environment so far.
    """

    _settings: ReplayTrainerSettings
    _random_numbers = 2
    """Random numbers of an action; by default, whether to explore, and which action."""
    _spare, _shared = 0, False
    """Positions that may be written meanwhile, see `ReplaySettings`, and whether other processes map the ring."""

    def __init__(self, context: Context, settings: ReplayTrainerSettings, name: str) -> None:
        if context.ranks.size > 1:
            raise BadParameter(f"{name} trains in one session; train in several with ppo")
        keep_memory()
        self._context, self._settings = context, settings
        self._device = torch.device(context.device)
        self.steps = 0
        self._envs: Envs | None = None
        self._replay: Replay | None = None
        self._noise: ActionNoise | None = None
        self._saved_replay: dict[str, Array] = {}
        self._end: dict[str, Any] = {}

    def buffer(self, num_envs: int) -> BufferSpec:
        rows = num_envs * self._context.task.players
        return BufferSpec(self._ring_of(rows).slots(rows), ring=True, segment=self._shared)

    def attach(self, envs: Envs) -> None:
        """Act in environments from now on."""
        context, players = self._context, self._context.task.players
        rows = envs.environments * players
        self._envs, self._ring, self._iteration = envs, self._ring_of(rows), _steps_per_iteration(rows)
        self._noise = ActionNoise(
            context.seed,
            first_env=0,
            num_envs=envs.environments,
            players=players,
            numbers=self._random_numbers,
            device=self._device,
        )

    def _ring_of(self, rows: int) -> ReplaySettings:
        spare = max(self._spare, _steps_per_iteration(rows) if self._settings.save_replay else 0)
        return replay_settings(self._settings, self._capacity(rows), spare)

    def _capacity(self, rows: int) -> int:  # noqa: ARG002 - players keep more for more rows
        return self._settings.replay_size

    def _open_replay(self) -> Replay:
        """Return the replay; at the first step, when a session has restored the environments or not."""
        if self._replay is None:
            assert self._envs is not None
            self._replay = self._new_replay(self._envs)
            self._replay.add()
            head = self._restore(self._replay) if self._saved_replay else 0
            self._learn_from_replay(head)
            self._saved_replay = {}
            if self._settings.save_replay:
                self._context.notify(f"each checkpoint contains the replay, up to {human_bytes(self._replay.size())}")
            self._mark()
        return self._replay

    @abstractmethod
    def _new_replay(self, envs: Envs) -> Replay:
        """Return a replay over the ring of `envs`."""

    @abstractmethod
    def _learn_from_replay(self, head: int) -> None:
        """Learn from the replay from now on; `head` is that of the saved replay if there is one."""

    @abstractmethod
    def _mark(self) -> None:
        """Keep in `_end` what a checkpoint contains: the state at the end of an iteration."""

    @abstractmethod
    def _count_from_here(self) -> None:
        """Learn only after `learning_starts` further decisions."""

    def _restore(self, replay: Replay) -> int:
        """Continue with the saved replay, or without it if it is one of another N; return what is now its head."""
        try:
            return replay.load_state(self._saved_replay)
        except BadParameter as error:
            self._saved_replay = {}
            self._collect_first(str(error))
            return 0

    def _collect_first(self, reason: str) -> None:
        """Learn only after `learning_starts` further decisions, and report why."""
        self._count_from_here()
        self._context.notify(f"{reason}: learning continues after learning_starts decisions")

    def _replay_tensors(self) -> dict[str, Tensor]:
        """Return the replay as it was at the end of the iteration, for a checkpoint; nothing if it is not saved."""
        if not self._settings.save_replay or self._replay is None:
            return {}
        saved = self._replay.state(self._end["replay"])
        return {REPLAY + name: torch.from_numpy(array) for name, array in saved.items()}

    def _load_replay(self, tensors: Mapping[str, Tensor]) -> None:
        """Continue with the replay of a checkpoint when the ring is opened; without one, collect decisions first."""
        self._saved_replay = {
            name.removeprefix(REPLAY): value.numpy() for name, value in tensors.items() if name.startswith(REPLAY)
        }
        if not self._saved_replay:
            self._collect_first("the checkpoint contains no replay")

    def detach(self) -> None:
        """Release the replay."""
        self._replay = self._envs = None


def _steps_per_iteration(rows: int) -> int:
    return math.ceil(DECISIONS_PER_ITERATION / rows)
