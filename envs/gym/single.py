"""One environment of a task as a Gymnasium environment."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete, MultiDiscrete
from numpy.typing import NDArray

from ..errors import BadParameter
from ..fields import Array, Field
from ..registry import find
from ..task import Task, allocate

StepResult = tuple[Array, float, bool, bool, dict[str, Any]]


def observation_space(item: Field, rows: tuple[int, ...] = ()) -> Box:
    """Return the space of one observation, or of a batch of `rows`; bits are booleans."""
    shape = (*rows, *item.shape)
    if item.encoding == "bits":
        return Box(0, 1, shape, np.bool_)  # type: ignore[arg-type]
    dtype = np.dtype(item.dtype)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return Box(int(max(item.low, limits.min)), int(min(item.high, limits.max)), shape, dtype.type)
    return Box(item.low, item.high, shape, dtype.type)


def action_space(task: Task) -> gymnasium.Space[Any]:
    """Return the space of one seat's actions."""
    if task.bounds:
        low, high = np.array(task.bounds, np.float32).T
        return Box(low, high, dtype=np.float32)
    return MultiDiscrete(list(task.choices)) if task.choices else Discrete(task.num_actions)


def task_of(task: Task | str, parameters: dict[str, Any]) -> Task:
    """Return the task itself, or the task of a name and parameters."""
    if isinstance(task, Task):
        return task
    tail = ",".join(f"{key}={value}" for key, value in parameters.items())
    return find(f"{task}:{tail}" if tail else task)


class TaskEnv(gymnasium.Env[Array, Any]):
    """One environment of a task with one player.

    Gymnasium samples actions without a mask, so an illegal action is replaced by the next legal one;
    `info["action"]` is the action taken. Continuous actions are clipped to their bounds.

    Args:
        task: The task, or its name.
        render_mode: `ansi` or None.
        **parameters: The task's parameters.
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 30}  # noqa: RUF012

    def __init__(self, task: Task | str, render_mode: str | None = None, **parameters: Any) -> None:
        self.task = task_of(task, parameters)
        if self.task.players != 1:
            raise BadParameter(f"{self.task.name} has {self.task.players} players; use gymnasium.make_vec")
        self.render_mode = render_mode
        self.observation_space = observation_space(self.task.observation)
        self.action_space = action_space(self.task)
        self._fields = {item.name: item for item in self.task.fields}
        self._buffers = allocate(self.task, 1)
        self._environments = self.task.make(0, 1, self._buffers, 0)
        self._fresh = self._closed = False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Begin the next episode, or with `seed` the first episode of that seed."""
        super().reset(seed=seed, options=options)
        if seed is None and self._np_random is None:
            seed = int(self.np_random.integers(1 << 32))
        if seed is not None:
            self._environments.close()
            self._buffers = allocate(self.task, 1)
            self._environments = self.task.make(0, 1, self._buffers, seed)
            self._fresh = False
        # The step that ended an episode has already begun the next one.
        if not self._fresh:
            self._environments.reset(np.ones(1, np.bool_), 0)
        self._fresh = False
        return self._field("observation"), self._info()

    def step(self, action: Any) -> StepResult:
        """Take one action; at the end of an episode the observation is its last one."""
        taken = self._within(action) if self.task.action.shape else self._legal(int(action))
        self._buffers["action"][0, 0] = taken
        self._environments.step(0)
        terminated, truncated = (bool(self._buffers[name][0, 0]) for name in ("terminated", "truncated"))
        self._fresh = terminated or truncated
        observation = self._field("final_observation" if self._fresh else "observation")
        return (
            observation,
            float(self._buffers["reward"][0, 0]),
            terminated,
            truncated,
            {**self._info(), "action": taken},
        )

    def action_masks(self) -> NDArray[np.bool_]:
        """Return which actions are legal, `(num_actions,)`."""
        return self._field("action_mask") if self.task.masked else np.ones(self.task.num_actions, np.bool_)

    def render(self) -> str | None:
        """Return the board as text in mode `ansi`: one character per cell, or one number per line."""
        if self.render_mode != "ansi":
            return None
        panel = next(panel for panel in self.task.panels if panel.main)
        board = self._buffers[panel.field][0, 0]
        if panel.kind != "cells":
            return "\n".join(str(value) for value in board.ravel().tolist())
        return "\n".join("".join(panel.glyphs[code].narrow for code in row) for row in board.tolist())

    def close(self) -> None:
        """Release the environment."""
        if not self._closed:
            self._environments.close()
        self._closed = True

    def _within(self, action: Any) -> Array:
        """Return an action of several components, clipped to its bounds if it is continuous."""
        space = self.action_space
        given: Array = np.asarray(action)
        if isinstance(space, Box) and given.shape == space.shape and np.isfinite(given).all():
            given = given.clip(space.low, space.high)
        if given not in space:
            raise BadParameter(f"{self.task.name} expects an action of {space}, got {action}")
        return given

    def _legal(self, action: int) -> int:
        if not 0 <= action < self.task.num_actions:
            raise BadParameter(
                f"{self.task.name} expects an action from 0 to {self.task.num_actions - 1}, got {action}"
            )
        legal = np.flatnonzero(np.roll(self.action_masks(), -action)) if self.task.masked else (0,)
        return (action + int(legal[0])) % self.task.num_actions

    def _field(self, name: str) -> Array:
        item = self._fields[name]
        value = item.decode(self._buffers[name][0, 0])
        return value.astype(np.bool_) if item.encoding == "bits" else value.copy()

    def _info(self) -> dict[str, Any]:
        names = ("frames", "episode_return", "episode_length", "outcome", *(item.name for item in self.task.info))
        info: dict[str, Any] = {name: self._buffers[name][0, 0].copy() for name in names}
        if self.task.masked:
            info["action_mask"] = self._field("action_mask")
        return info
