"""A backend as a Gymnasium vector environment, whose batches are slots of the buffer."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from gymnasium import Space
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from ...envs import BadParameter, Field, Task
from ...envs.fields import Array
from ...envs.gym.single import action_space, observation_space
from ...envs.task import seed_from
from .errors import BackendBusy, BadAction
from .layout import Buffer
from .status import BackendStage
from .stepping import Stepping


class BatchViews:
    """One buffer's slots as Gymnasium's batches.

    Args:
        buffer: The arrays.
        copy: Whether batches are copies. Otherwise unpacked fields are views that a later step overwrites.
    """

    def __init__(self, task: Task, buffer: Buffer, *, copy: bool) -> None:
        self._task = task
        self._buffer = buffer
        self._copy = copy
        self._fields = {item.name: item for item in task.fields}
        self._scalars = [item for item in task.info if not item.shape]
        self._rows = len(buffer["reward"][0])
        self._all = np.ones(self._rows, np.bool_)

    def field(self, name: str, slot: int) -> Array:
        """Return `(rows, *shape)` of a field, decoded."""
        item, array = self._fields[name], self._buffer[name]
        rows = item.decode(array[slot if item.timed else 0])
        if item.encoding == "bits":
            flags: NDArray[np.bool_] = rows.view(np.bool_)
            return flags
        return rows.copy() if self._copy and item.encoding == "raw" else rows

    def flag(self, name: str, slot: int) -> NDArray[np.bool_]:
        """Return `(rows,)` of a flag."""
        flags: NDArray[np.bool_] = self._buffer[name][slot].view(np.bool_)
        return flags.copy() if self._copy else flags

    def masks(self, slot: int) -> NDArray[np.bool_]:
        """Return which actions are legal, `(rows, num_actions)`."""
        if not self._task.masked:
            return np.ones((self._rows, self._task.num_actions), np.bool_)
        masks: NDArray[np.bool_] = self.field("action_mask", slot)
        return masks

    def infos(self, slot: int, *, ends: bool = True) -> dict[str, Any]:
        """Return Gymnasium's infos: the task's scalars, the action masks, and the final values of ended episodes."""
        infos: dict[str, Any] = {item.name: self._scalar(item, slot) for item in self._scalars}
        if self._task.masked:
            infos["action_mask"] = self.masks(slot)
        infos.update({f"_{name}": self._all for name in tuple(infos)})
        if ends:
            ended = self.flag("terminated", slot) | self.flag("truncated", slot)
            if ended.any():
                self._add_ends(infos, slot, ended)
        return infos

    def _scalar(self, item: Field, slot: int) -> Array:
        values = self.field(item.name, slot)
        return values if item.per == "seat" else np.repeat(values, self._task.players)

    def _add_ends(self, infos: dict[str, Any], slot: int, ended: NDArray[np.bool_]) -> None:
        final = self.field("final_observation", slot)
        observations = np.full(self._rows, None, dtype=object)
        for row in np.flatnonzero(ended):
            observations[row] = final[row].copy()
        names = ("episode_return", "episode_length", "outcome")
        details: dict[str, Any] = {name: np.where(ended, self._scalar(self._fields[name], slot), 0) for name in names}
        details.update({f"_{name}": ended for name in names})
        infos.update(final_obs=observations, _final_obs=ended, final_info=details, _final_info=ended)


Batch = tuple[Array, Array, NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]


class Backend(Stepping, VectorEnv[Array, Array, Array]):
    """N environments of a task, stepped slot by slot by trainers, or by Gymnasium's `reset` and `step`.

    Args:
        num_envs: Number of environments N.
        copy: Whether batches are copies rather than views.
        **options: Those of `Stepping`.

    Attributes:
        num_envs: What Gymnasium calls so: the length of a batch, which is the number of rows. N is `environments`.
    """

    def __init__(self, task: Task, num_envs: int, *, copy: bool = False, **options: Any) -> None:
        super().__init__(task, num_envs, **options)
        self.num_envs = self.rows
        self.metadata = {"autoreset_mode": AutoresetMode.SAME_STEP, "render_modes": []}
        self.single_observation_space = observation_space(task.observation)
        self.single_action_space = action_space(task)
        self._views = BatchViews(task, self.buffer, copy=copy)

    @cached_property
    def action_space(self) -> Space[Array]:  # type: ignore[override]
        """The space of a batch's actions."""
        return batch_space(self.single_action_space, self.num_envs)

    @cached_property
    def observation_space(self) -> Box:  # type: ignore[override]
        """The space of a batch, made on first use because its bounds are as large as the batch."""
        return observation_space(self.task.observation, (self.num_envs,))

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Start the next episode, in every environment or where `options["reset_mask"]` is true.

        Args:
            seed: Start at episode 0 of another seed.
            options: `reset_mask`, a bool array `(num_envs,)`, the same for all seats of an environment.

        Returns:
            Observations and infos.
        """
        self._expect(BackendStage.NEW, BackendStage.READY)
        mask = self._reset_mask((options or {}).get("reset_mask"))
        if seed is not None:
            self.seed = seed_from(seed, self.first_env)
            self._reseed(self.seed)
        if not mask.all():
            self.buffer.carry()
        self._run_reset(mask, 0)
        return self._views.field("observation", 0), self._views.infos(0, ends=False)

    def step_async(self, actions: Array) -> None:
        """Start a step of all environments with `actions`, `(num_envs, *shape)` of the action space."""
        self._expect(BackendStage.READY)
        order = self.buffer.order
        if order.full:
            self.buffer.carry()
        given, wanted = np.asarray(actions), self.buffer["action"][order.newest]
        kinds, kind = ("iuf", "numbers") if self.task.bounds else ("iu", "integers")
        if given.shape != wanted.shape or given.dtype.kind not in kinds:
            raise BadAction(f"actions must be {kind} of shape {wanted.shape}, got {given.dtype} of shape {given.shape}")
        wanted[...] = given
        self.send(order.newest)

    def step_wait(self, timeout: float | None = None) -> Batch:
        """Wait for `step_async`; return observations, rewards, terminations, truncations and infos."""
        self.wait(timeout)
        self._check_numbers()
        slot, views = self.buffer.order.newest, self._views
        flags = views.flag("terminated", slot), views.flag("truncated", slot)
        return views.field("observation", slot), views.field("reward", slot), *flags, views.infos(slot)

    def step(self, actions: Array) -> Batch:
        """Step all environments. Where an episode ended, the next one has started, and `final_obs` is set."""
        self.step_async(actions)
        return self.step_wait()

    def action_masks(self) -> NDArray[np.bool_]:
        """Return which actions are legal now, `(num_envs, num_actions)`."""
        return self._views.masks(self.buffer.order.newest)

    def render(self) -> None:
        """Draw nothing: boards are in the buffer."""

    def close_extras(self, **_: Any) -> None:
        """Stop the workers and release everything."""
        self._stage = BackendStage.CLOSED
        try:
            self._stop()
        finally:
            self._remove_segment()

    def _reset_mask(self, mask: Any) -> NDArray[np.bool_]:
        if mask is None:
            return np.ones(self.environments, np.bool_)
        if (
            not isinstance(mask, np.ndarray)
            or mask.shape != (self.num_envs,)
            or mask.dtype != np.bool_
            or not mask.any()
        ):
            raise BadParameter(
                f"reset_mask must be a bool array of shape ({self.num_envs},) with a true value, got {mask!r}"
            )
        if self._stage is BackendStage.NEW and not mask.all():
            raise BackendBusy("the first reset must start all environments; leave reset_mask out")
        seats: NDArray[np.bool_] = np.any(mask.reshape(self.environments, -1), axis=1)
        return seats
