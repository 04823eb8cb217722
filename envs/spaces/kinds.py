"""Kinds of spaces, by the names of their classes: every version of Gymnasium, and gym, have classes of their own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..errors import BadParameter

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
