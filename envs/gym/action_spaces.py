"""Maps the actions of Gymnasium's spaces to the buffer: to choices or to bounded numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeAlias

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Tuple

from ..fields import Array
from .spaces import WRAP, UnsupportedSpaces, named, simple_spaces

ActionReader: TypeAlias = Callable[[Array], Sequence[Any]]
ENDLESS = 1e30
"""Larger bounds count as infinite: many environments use `finfo.max` for infinity."""


@dataclass(frozen=True)
class ActionPart:
    """One simple space within the actions.

    Attributes:
        path: The keys of the Dicts and Tuples around it.
        choices: Number of choices of each component; empty if it is continuous.
        bounds: Lowest and highest value of each component; empty if it is not continuous.
    """

    path: tuple[str | int, ...]
    choices: tuple[int, ...] = ()
    bounds: tuple[tuple[float, float], ...] = ()

    @property
    def width(self) -> int:
        """Number of components."""
        return len(self.choices) + len(self.bounds)


def action_parts(name: str, space: gymnasium.Space[Any]) -> list[ActionPart]:
    """Return the simple spaces within actions, in the order of their components.

    Raises:
        UnsupportedSpaces: One of them has neither choices nor numbers.
    """
    return [_part(name, space, path, part) for path, part in simple_spaces(space)]


def component_names(parts: Iterable[ActionPart]) -> tuple[str, ...]:
    """Return the names of the components of actions; empty if they have none, because the space has only one part."""
    return tuple(chain.from_iterable(named(part.path, part.width) for part in parts if part.path))


def describe_actions(name: str, space: gymnasium.Space[Any]) -> dict[str, Any]:
    """Return those of `num_actions`, `choices`, `bounds` and `component_names` that a task with these actions has.

    Raises:
        UnsupportedSpaces: The kind of space is not supported.
    """
    if isinstance(space, Discrete):
        return {"num_actions": int(space.n)}
    parts = action_parts(name, space)
    choices = tuple(chain.from_iterable(part.choices for part in parts))
    bounds = tuple(chain.from_iterable(part.bounds for part in parts))
    if choices and bounds:
        raise UnsupportedSpaces(
            f"{name} has actions {space}, which mix choices and continuous numbers; a policy has only one of them: "
            f"{WRAP}, so that all parts are discrete or all are Box"
        )
    facts = {"choices": choices, "bounds": bounds, "component_names": component_names(parts)}
    return {"num_actions": sum(choices) or len(bounds), **{name: fact for name, fact in facts.items() if fact}}


def _part(name: str, space: gymnasium.Space[Any], path: tuple[str | int, ...], part: Any) -> ActionPart:
    if isinstance(part, Discrete):
        return ActionPart(path, choices=(int(part.n),))
    if isinstance(part, MultiDiscrete):
        return ActionPart(path, choices=tuple(np.asarray(part.nvec).ravel().tolist()))
    if isinstance(part, MultiBinary):
        return ActionPart(path, choices=(2,) * math.prod(part.shape))
    if isinstance(part, Box) and part.low.size:
        return ActionPart(path, bounds=tuple(zip(_endless(part.low), _endless(part.high), strict=True)))
    raise UnsupportedSpaces(
        f"{name} has actions {space}; Discrete, MultiDiscrete, MultiBinary, Box, and Dict or Tuple of these can be "
        f"trained on: {WRAP}"
    )


def _endless(bounds: Array) -> list[float]:
    """Return bounds as numbers, infinite if there is no bound."""
    return [math.copysign(math.inf, bound) if abs(bound) > ENDLESS else bound for bound in bounds.ravel().tolist()]


def action_reader(space: gymnasium.Space[Any]) -> ActionReader:
    """Return a function that converts the buffer's actions, one row per environment, to the environments' actions."""
    if isinstance(space, Discrete):
        start = int(space.start)
        return (lambda rows: (rows + start).tolist()) if start else lambda rows: rows.tolist()
    if isinstance(space, Dict | Tuple):
        return _composite_reader(space)
    shape, dtype = (-1, *(space.shape or ())), space.dtype
    if isinstance(space, Box):
        low, high, whole = space.low, space.high, np.dtype(dtype).kind in "iu"

        def numbers(rows: Array) -> Sequence[Any]:
            # Converted to the space's dtype, a float32 may be slightly outside of the bounds.
            own = (np.rint(rows) if whole else rows).reshape(shape).astype(dtype).clip(low, high)
            return [own[index, ...] for index in range(len(own))]

        return numbers
    first: Any = getattr(space, "start", 0)
    return lambda rows: list((rows.reshape(shape) + first).astype(dtype))


def _composite_reader(space: Dict | Tuple[Any]) -> ActionReader:
    """Return a function that converts rows to dicts or tuples, whose parts are consecutive columns."""
    parts: Mapping[Any, Any] = space.spaces if isinstance(space, Dict) else dict(enumerate(space.spaces))
    readers, columns, end = [], [], 0
    for part in parts.values():
        width = sum(leaf.width for leaf in action_parts("", part))
        readers.append(action_reader(part))
        columns.append(end if isinstance(part, Discrete) else slice(end, end + width))
        end += width

    def read(rows: Array) -> Sequence[Any]:
        values = zip(*(reader(rows[:, at]) for reader, at in zip(readers, columns, strict=True)), strict=True)
        return [dict(zip(parts, row, strict=True)) for row in values] if isinstance(space, Dict) else list(values)

    return read
