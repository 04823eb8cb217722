"""Maps Gymnasium's spaces to the buffer: actions to choices or bounded numbers, observations to one field."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Tuple

from ..errors import BadParameter
from ..fields import Array, Field

ActionReader: TypeAlias = Callable[[Array], Sequence[Any]]
KEPT = frozenset({"uint8", "int8", "int16", "int32", "float32"})
"""The dtypes that are stored unchanged; others are stored as float32."""
ENDLESS = 1e30
"""Larger bounds count as infinite: many environments use `finfo.max` for infinity."""
WRAP = "wrap the environment, for instance with gymnasium.wrappers"


class UnsupportedSpaces(BadParameter):
    """An environment whose spaces cannot be trained on."""

    title = "Environment not supported"


# -- actions ----------------------------------------------------------------------------------------------------------


def describe_actions(name: str, space: gymnasium.Space[Any]) -> dict[str, Any]:
    """Return `num_actions`, `choices` and `bounds` of a task with these actions.

    Raises:
        UnsupportedSpaces: The kind of space is not supported.
    """
    if isinstance(space, Discrete):
        return {"num_actions": int(space.n)}
    if isinstance(space, MultiDiscrete | MultiBinary):
        choices = tuple(_counts(space).tolist())
        return {"num_actions": sum(choices), "choices": choices}
    if isinstance(space, Box) and space.low.size:
        bounds = tuple(zip(_endless(space.low), _endless(space.high), strict=True))
        return {"num_actions": len(bounds), "bounds": bounds}
    raise UnsupportedSpaces(
        f"{name} has actions {space}; Discrete, MultiDiscrete, MultiBinary and Box can be trained on: {WRAP}"
    )


def action_reader(space: gymnasium.Space[Any]) -> ActionReader:
    """Return a function that converts the buffer's actions, one row per environment, to the environments' actions."""
    if isinstance(space, Discrete):
        start = int(space.start)
        return (lambda rows: (rows + start).tolist()) if start else lambda rows: rows.tolist()
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


def _counts(space: MultiDiscrete[Any] | MultiBinary) -> Array:
    """Return the number of choices of each component."""
    if isinstance(space, MultiDiscrete):
        return np.asarray(space.nvec).ravel()
    return np.full(math.prod(space.shape), 2)


def _endless(bounds: Array) -> list[float]:
    """Return bounds as numbers, infinite if there is no bound."""
    return [math.copysign(math.inf, bound) if abs(bound) > ENDLESS else bound for bound in bounds.ravel().tolist()]


# -- observations -----------------------------------------------------------------------------------------------------


class ObservationWriter(Protocol):
    """Writes observations of one space into rows of the buffer."""

    item: Field
    slices: Mapping[str, tuple[int, int]]

    def write(self, observation: Any, into: Array) -> None:
        """Write an observation into a row of the field.

        Raises:
            BadParameter: The observation is not in the space.
        """


def writer_of(name: str, space: gymnasium.Space[Any]) -> ObservationWriter:
    """Return the writer for the observations of `space`.

    Raises:
        UnsupportedSpaces: The kind of space is not supported.
    """
    writer = BoxWriter(name, space) if isinstance(space, Box) and space.low.size else FlatWriter(name, space)
    if not math.prod(writer.item.shape):
        raise UnsupportedSpaces(f"{name} has observations {space}, which are empty; {WRAP}")
    return writer


class BoxWriter:
    """Writes the observations of a Box in their own shape, and in their own dtype if it is one of `KEPT`.

    Attributes:
        item: The field.
        slices: Empty.
    """

    def __init__(self, name: str, space: Box) -> None:
        dtype = "uint8" if space.dtype == np.bool_ else str(space.dtype)
        low, high = float(space.low.min()), float(space.high.max())
        kind = dtype if dtype in KEPT else "float32"
        self.item = Field("observation", kind, space.shape, per="seat", low=low, high=high)
        self.slices: Mapping[str, tuple[int, int]] = {}
        self._name = name

    def write(self, observation: Any, into: Array) -> None:
        """Copy an observation."""
        _expect(self._name, self.item.shape, observation)
        into[...] = observation


@dataclass(frozen=True)
class SpaceLeaf:
    """One simple space within an observation.

    Attributes:
        path: The keys of the Dicts and Tuples around it.
        space: The space.
        lo: Its first index in the flat vector.
        hi: One past its last index.
    """

    path: tuple[str | int, ...]
    space: gymnasium.Space[Any]
    lo: int
    hi: int

    @property
    def name(self) -> str:
        """The keys, joined by dots."""
        return ".".join(str(key) for key in self.path)


class FlatWriter:
    """Writes observations of discrete spaces, and of Dicts and Tuples, as one vector in the order of the space.

    Choices are one-hot. A vector of one-hot parts only is stored as bits; a vector with numbers as float32, in which
    bytes are divided by their highest value.

    Attributes:
        item: The field.
        slices: The range of each part of a Dict or Tuple.
    """

    def __init__(self, name: str, space: gymnasium.Space[Any]) -> None:
        self._name, end = name, 0
        self._leaves: list[SpaceLeaf] = []
        for path, part in _leaves(name, space, ()):
            width = _width(part)
            self._leaves.append(SpaceLeaf(path, part, end, end + width))
            end += width
        boxes = [leaf for leaf in self._leaves if isinstance(leaf.space, Box)]
        low, high = 0.0, 1.0
        for leaf in boxes:
            scale = _scale(leaf.space)
            low = min(low, scale * float(leaf.space.low.min()))  # type: ignore[attr-defined]
            high = max(high, scale * float(leaf.space.high.max()))  # type: ignore[attr-defined]
        self._bits = not boxes
        self.item = Field(
            "observation",
            "uint8" if self._bits else "float32",
            (end,),
            "bits" if self._bits else "raw",
            per="seat",
            low=low,
            high=high,
        )
        self.slices: Mapping[str, tuple[int, int]] = {
            leaf.name: (leaf.lo, leaf.hi) for leaf in self._leaves if leaf.path
        }
        self._vector: Array = np.zeros(end, self.item.dtype)

    def write(self, observation: Any, into: Array) -> None:
        """Flatten an observation, and pack it if it is stored as bits."""
        vector = self._vector
        vector[:] = 0
        for leaf in self._leaves:
            part = observation
            try:
                for key in leaf.path:
                    part = part[key]
            except (KeyError, IndexError, TypeError) as error:
                raise BadParameter(
                    f"the observation of {self._name} lacks {leaf.name!r}, which its space contains"
                ) from error
            self._write(leaf, part, vector[leaf.lo : leaf.hi])
        into[...] = np.packbits(vector, bitorder="little") if self._bits else vector

    def _write(self, leaf: SpaceLeaf, value: Any, into: Array) -> None:
        space, name = leaf.space, f"{self._name}, {leaf.name}" if leaf.path else self._name
        _expect(name, space.shape or (), value)
        flat = np.asarray(value).ravel()
        if isinstance(space, Box):
            into[:] = flat * _scale(space)
        elif isinstance(space, MultiBinary):
            into[:] = flat
        else:
            counts, first = _choices(space)
            places = flat - first
            if ((places < 0) | (places >= counts)).any():
                raise BadParameter(f"{name} has observations of {space} and returned {value}: fix its space")
            into[places + np.cumsum(counts) - counts] = 1


def _leaves(
    name: str, space: gymnasium.Space[Any], path: tuple[str | int, ...]
) -> Iterator[tuple[tuple[str | int, ...], gymnasium.Space[Any]]]:
    if isinstance(space, Dict | Tuple):
        parts = space.spaces.items() if isinstance(space, Dict) else enumerate(space.spaces)
        for key, part in parts:
            yield from _leaves(name, part, (*path, key))
    elif isinstance(space, Discrete | MultiDiscrete | MultiBinary) or (isinstance(space, Box) and space.low.size):
        yield path, space
    elif not isinstance(space, Box):
        where = f" in {'.'.join(map(str, path))}" if path else ""
        raise UnsupportedSpaces(
            f"{name} has observations {space}{where}; Box, Discrete, MultiDiscrete, MultiBinary and Dict or Tuple of "
            f"these can be trained on: {WRAP}"
        )


def _width(space: gymnasium.Space[Any]) -> int:
    if isinstance(space, Discrete | MultiDiscrete):
        return int(_choices(space)[0].sum())
    return math.prod(space.shape or ())


def _choices(space: Any) -> tuple[Array, Array]:
    """Return the number of choices of each component, and its first value."""
    if isinstance(space, Discrete):
        return np.array([space.n]), np.array([space.start])
    return np.asarray(space.nvec).ravel(), np.asarray(getattr(space, "start", np.zeros(space.shape))).ravel()


def _scale(space: Any) -> float:
    highest = float(space.high.max())
    return 1 / highest if space.dtype == np.uint8 and highest > 1 else 1.0


def _expect(name: str, shape: tuple[int, ...], value: Any) -> None:
    """Check that an observation has the shape of the environment's space."""
    if np.shape(value) != shape:
        raise BadParameter(
            f"{name} has observations of shape {shape} and returned one of shape {np.shape(value)}: fix its space"
        )
