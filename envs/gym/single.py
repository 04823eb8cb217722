"""One environment of a task as a Gymnasium environment."""

from __future__ import annotations

from collections.abc import Mapping
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


class OneEnvironment:
    """One environment of a task, with a row for each seat."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self._fields = {item.name: item for item in task.fields}
        self._space = action_space(task)
        self._fresh = False
        self._make(0)

    def _make(self, seed: int) -> None:
        self.buffers = allocate(self.task, 1)
        self._environments = self.task.make(0, 1, self.buffers, seed)

    def begin(self, seed: int | None) -> None:
        """Begin the next episode, or with a seed its first episode."""
        if seed is not None:
            self._environments.close()
            self._make(seed)
            self._fresh = False
        # The step that ended an episode has already begun the next one.
        if not self._fresh:
            self._environments.reset(np.ones(1, np.bool_), 0)
        self._fresh = False

    def step(self, actions: Mapping[int, Any]) -> dict[int, Any]:
        """Take the actions of some rows; return those that were taken.

        An illegal action is replaced by the next legal one, and continuous actions are clipped to their bounds.
        """
        taken = {
            row: self._within(action) if self.task.action.shape else self._legal(row, int(action))
            for row, action in actions.items()
        }
        for row, action in taken.items():
            self.buffers["action"][0, row] = action
        self._environments.step(0)
        self._fresh = bool(self.buffers["terminated"][0, 0] or self.buffers["truncated"][0, 0])
        return taken

    def ends(self, row: int) -> tuple[bool, bool]:
        """Return whether the last step terminated or truncated a row's episode."""
        return bool(self.buffers["terminated"][0, row]), bool(self.buffers["truncated"][0, row])

    def observation(self, row: int) -> Array:
        """Return a row's observation; at the end of an episode, its last one."""
        return self._field("final_observation" if self._fresh else "observation", row)

    def reward(self, row: int) -> float:
        """Return a row's reward of the last step."""
        return float(self.buffers["reward"][0, row])

    def masks(self, row: int) -> NDArray[np.bool_]:
        """Return which actions of a row are legal, `(num_actions,)`."""
        return self._field("action_mask", row) if self.task.masked else np.ones(self.task.num_actions, np.bool_)

    def info(self, row: int) -> dict[str, Any]:
        """Return the scalars of a row and of the environment, and the mask of its actions."""
        names = ("frames", "episode_return", "episode_length", "outcome", *(item.name for item in self.task.info))
        info: dict[str, Any] = {
            name: self.buffers[name][0, row if self._fields[name].per == "seat" else 0].copy() for name in names
        }
        if self.task.masked:
            info["action_mask"] = self._field("action_mask", row)
        return info

    def drawn(self) -> str:
        """Return the board as text: one character per cell, or one number per line."""
        panel = next(panel for panel in self.task.panels if panel.main)
        board = self.buffers[panel.field][0, 0]
        if panel.kind != "cells":
            return "\n".join(str(value) for value in board.ravel().tolist())
        return "\n".join("".join(panel.glyphs[code].narrow for code in row) for row in board.tolist())

    def close(self) -> None:
        """Release the environment."""
        self._environments.close()

    def _within(self, action: Any) -> Array:
        """Return an action of several components, clipped to its bounds if it is continuous."""
        space = self._space
        given: Array = np.asarray(action)
        if isinstance(space, Box) and given.shape == space.shape and np.isfinite(given).all():
            given = given.clip(space.low, space.high)
        if given not in space:
            raise BadParameter(f"{self.task.name} expects an action of {space}, got {action}")
        return given

    def _legal(self, row: int, action: int) -> int:
        if not 0 <= action < self.task.num_actions:
            raise BadParameter(
                f"{self.task.name} expects an action from 0 to {self.task.num_actions - 1}, got {action}"
            )
        legal = np.flatnonzero(np.roll(self.masks(row), -action)) if self.task.masked else (0,)
        return (action + int(legal[0])) % self.task.num_actions

    def _field(self, name: str, row: int) -> Array:
        item = self._fields[name]
        value = item.decode(self.buffers[name][0, row])
        return value.astype(np.bool_) if item.encoding == "bits" else value.copy()


class TaskEnv(gymnasium.Env[Array, Any]):
    """One environment of a task with one player.

    Gymnasium samples actions without a mask, so an illegal action is replaced by the next legal one;
    `info["action"]` is the action taken. Continuous actions are clipped to their bounds.

    Args:
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
        self._environment = OneEnvironment(self.task)
        self._closed = False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Begin the next episode, or with `seed` the first episode of that seed."""
        super().reset(seed=seed, options=options)
        if seed is None and self._np_random is None:
            seed = int(self.np_random.integers(1 << 32))
        self._environment.begin(seed)
        return self._environment.observation(0), self._environment.info(0)

    def step(self, action: Any) -> StepResult:
        """Take one action; at the end of an episode the observation is its last one."""
        one = self._environment
        taken = one.step({0: action})
        return one.observation(0), one.reward(0), *one.ends(0), {**one.info(0), "action": taken[0]}

    def action_masks(self) -> NDArray[np.bool_]:
        """Return which actions are legal, `(num_actions,)`."""
        return self._environment.masks(0)

    def render(self) -> str | None:
        """Return the board as text in mode `ansi`: one character per cell, or one number per line."""
        return self._environment.drawn() if self.render_mode == "ansi" else None

    def close(self) -> None:
        """Release the environment."""
        if not self._closed:
            self._environment.close()
        self._closed = True
