"""Describes the environments of a watched script as a task, by their spaces."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

import gymnasium
from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete

from ...envs import Field, Outcome, Task
from ...envs.gym.spaces import UnsupportedSpaces, describe_actions
from ..past.replay import NotReplayable
from .boards import WatchedBoards
from .mirror import ActionReader


def describe_script(
    name: str,
    actions: gymnasium.Space[Any],
    boards: WatchedBoards,
    info: Iterable[str] = (),
    *,
    begins_at_once: bool = False,
) -> Task:
    """Return the task of somebody's environments, as far as their spaces tell it, and what numbers are in an info.

    `begins_at_once` says whether the step that ends an episode resets the environment.
    """
    return Task(
        spec=name,
        name=name,
        title=name.rpartition(":")[2].rpartition("/")[2],
        factory=f"{__name__}:refuse",
        observation=boards.numbers,
        **_actions(actions),
        outcomes=(Outcome("terminated", "neutral"), Outcome("truncated", "neutral")),
        info=tuple(Field(name, "float32") for name in info),
        panels=(boards.panel,),
        boards=(boards.field, Field("looked_at", "uint8", timed=False)),
        begins_at_once=begins_at_once,
    )


def refuse(*_: object) -> NoReturn:
    """Make no environments: they are the script's."""
    raise NotReplayable("only the script could play it again")


def _actions(space: gymnasium.Space[Any]) -> dict[str, Any]:
    """Return what a task says of its actions; nothing of those that are neither numbers nor choices."""
    try:
        return describe_actions("", space)
    except UnsupportedSpaces:
        return {"num_actions": 1}


def action_reader(space: gymnasium.Space[Any]) -> ActionReader | None:
    """Return what turns actions `(steps, N, numbers)` into the buffer's; None where they do not fit there."""
    if isinstance(space, Discrete):
        first = int(space.start)
        return lambda actions: actions[..., 0] - first
    if isinstance(space, Box | MultiDiscrete | MultiBinary) and space.shape:
        return lambda actions: actions
    return None
