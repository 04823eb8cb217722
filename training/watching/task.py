"""Describes the environments of a watched script as a task, by their spaces."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any, NoReturn

import gymnasium
import numpy as np
from gymnasium.spaces import Dict, Discrete, Tuple

from ...envs import Field, Outcome, Task
from ...envs.fields import Array
from ...envs.spaces.actions import action_parts, component_names, describe_actions
from ...envs.spaces.kinds import UnsupportedSpaces
from ..past.replay import NotReplayable
from .boards import WatchedBoards


def describe_script(
    name: str,
    actions: WatchedActions,
    boards: WatchedBoards,
    *,
    begins_at_once: bool = False,
) -> Task:
    """Return the task of a script's environments, as far as their spaces define it.

    `begins_at_once` says whether the step that ends an episode resets the environment.
    """
    return Task(
        spec=name,
        name=name,
        title=name.rpartition(":")[2].rpartition("/")[2],
        factory=f"{__name__}:refuse",
        observation=boards.parts.field,
        slices=boards.parts.slices,
        **actions.facts,
        outcomes=(Outcome("terminated", "neutral"), Outcome("truncated", "neutral")),
        panels=boards.panels,
        boards=(*boards.fields, Field("looked_at", "uint8", timed=False)),
        begins_at_once=begins_at_once,
    )


def info_fields(names: Iterable[str]) -> tuple[Field, ...]:
    """Return the fields for numbers of an info."""
    return tuple(Field(name, "float32") for name in names)


def refuse(*_: object) -> NoReturn:
    """Make no environments: they are the script's."""
    raise NotReplayable("only the script could play it again")


class WatchedActions:
    """The actions of a script: as a task describes them, and how to read them from what the script passes to `step`.

    Choices and continuous numbers beside each other are shown as numbers.

    Attributes:
        facts: The fields of a task that describe them.
        reads: Whether they are known; actions that are neither choices nor numbers are not.
    """

    def __init__(self, space: gymnasium.Space[Any]) -> None:
        self._space = space
        try:
            self._parts = action_parts("", space)
        except UnsupportedSpaces:
            self._parts = []
        self.reads = bool(self._parts)
        self.facts: dict[str, Any] = self._describe() if self.reads else {"num_actions": 1, "action_names": ("N/A",)}
        self.flatten = self._flat if isinstance(space, Dict | Tuple) and self.reads else None
        """Makes an array `(N, numbers)` of actions with several parts; None if they already are an array."""

    def _describe(self) -> dict[str, Any]:
        parts = self._parts
        if not (any(part.choices for part in parts) and any(part.bounds for part in parts)):
            return describe_actions("", self._space)
        pairs = (part.bounds or tuple((0.0, count - 1.0) for count in part.choices) for part in parts)
        bounds = tuple(chain.from_iterable(pairs))
        return {"num_actions": len(bounds), "bounds": bounds, "component_names": component_names(parts)}

    def _flat(self, actions: Any) -> Array:
        columns = [_at(actions, part.path) for part in self._parts]
        return np.concatenate([np.reshape(column, (len(column), -1)) for column in columns], axis=1)

    def read(self, actions: Array) -> Array:
        """Return actions `(steps, N, numbers)` in the form of the buffer."""
        return actions[..., 0] - int(self._space.start) if isinstance(self._space, Discrete) else actions


def _at(actions: Any, path: tuple[str | int, ...]) -> Array:
    """Return a part of a batch of actions."""
    for key in path:
        actions = actions[key]
    return np.asarray(actions)
