"""Describes the actions of spaces: as choices or as bounded numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from ..errors import BadParameter
from ..fields import Array

KINDS = frozenset(
    ("Box", "Dict", "Discrete", "Graph", "MultiBinary", "MultiDiscrete", "OneOf", "Sequence", "Text", "Tuple")
)
WRAP = "wrap the environment, for instance with gymnasium.wrappers"


class UnsupportedSpaces(BadParameter):
    """An environment whose spaces cannot be trained on."""

    title = "Environment not supported"


def kind_of(space: Any) -> str:
    """Return the name of the class of Gymnasium that a space has or derives from; empty if it is none."""
    return next((base.__name__ for base in type(space).__mro__ if base.__name__ in KINDS), "")


def simple_spaces(space: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Yield the spaces within Dicts and Tuples, in their order, with the keys of the Dicts and Tuples around them."""
    kind = kind_of(space)
    if kind not in {"Dict", "Tuple"}:
        yield path, space
        return
    for key, part in space.spaces.items() if kind == "Dict" else enumerate(space.spaces):
        yield from simple_spaces(part, (*path, key))


def dotted(path: tuple[str | int, ...]) -> str:
    """Return the keys to a part of a space, joined by dots."""
    return ".".join(str(key) for key in path)


def named(path: tuple[str | int, ...], width: int) -> list[str]:
    """Return names for the numbers of a part of a space: its own, or numbered if it has several."""
    name = dotted(path)
    return [name] if width == 1 else [f"{name} {index}".strip() for index in range(width)]


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


def action_parts(name: str, space: Any) -> list[ActionPart]:
    """Return the simple spaces within actions, in the order of their components.

    Raises:
        UnsupportedSpaces: One of them has neither choices nor numbers.
    """
    return [_part(name, space, path, part) for path, part in simple_spaces(space)]


def component_names(parts: Iterable[ActionPart]) -> tuple[str, ...]:
    """Return the names of the components of actions; empty if they have none, because the space has only one part."""
    return tuple(chain.from_iterable(named(part.path, part.width) for part in parts if part.path))


def describe_actions(name: str, space: Any) -> dict[str, Any]:
    """Return those of `num_actions`, `choices`, `bounds` and `component_names` that a task with these actions has.

    Raises:
        UnsupportedSpaces: The kind of space is not supported.
    """
    if kind_of(space) == "Discrete":
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


def _part(name: str, space: Any, path: tuple[str | int, ...], part: Any) -> ActionPart:
    kind = kind_of(part)
    if kind == "Discrete":
        return ActionPart(path, choices=(int(part.n),))
    if kind == "MultiDiscrete":
        return ActionPart(path, choices=tuple(np.asarray(part.nvec).ravel().tolist()))
    if kind == "MultiBinary":
        return ActionPart(path, choices=(2,) * math.prod(part.shape))
    if kind == "Box" and part.low.size:
        return ActionPart(path, bounds=tuple(zip(_endless(part.low), _endless(part.high), strict=True)))
    raise UnsupportedSpaces(
        f"{name} has actions {space}; Discrete, MultiDiscrete, MultiBinary, Box, and Dict or Tuple of these can be "
        f"trained on: {WRAP}"
    )


def _endless(bounds: Array) -> list[float]:
    """Return bounds as numbers, infinite if there is no bound."""
    return [math.copysign(math.inf, bound) if abs(bound) > ENDLESS else bound for bound in bounds.ravel().tolist()]
