"""Maps the observations of Gymnasium's spaces to one field of the buffer."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete

from ..errors import BadParameter
from ..fields import Array, Field
from ..spaces.actions import WRAP, UnsupportedSpaces, dotted, simple_spaces

KEPT = frozenset({"uint8", "int8", "int16", "int32", "float32"})
"""The dtypes that are stored unchanged; others are stored as float32."""


class ObservationWriter(Protocol):
    """Writes observations of one space into rows of the buffer."""

    item: Field
    slices: Mapping[str, tuple[int, int]]
    ignored: tuple[str, ...]

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
        raise UnsupportedSpaces(f"{name} has observations {space}, which contain no numbers: {WRAP}")
    return writer


class BoxWriter:
    """Writes the observations of a Box in their own shape, and in their own dtype if it is one of `KEPT`.

    Attributes:
        item: The field.
        slices: Empty.
        ignored: Empty.
    """

    def __init__(self, name: str, space: Box) -> None:
        dtype = "uint8" if space.dtype == np.bool_ else str(space.dtype)
        low, high = float(space.low.min()), float(space.high.max())
        kind = dtype if dtype in KEPT else "float32"
        self.item = Field("observation", kind, space.shape, per="seat", low=low, high=high)
        self.slices: Mapping[str, tuple[int, int]] = {}
        self.ignored: tuple[str, ...] = ()
        self._name = name

    def write(self, observation: Any, into: Array) -> None:
        _expect(self._name, self.item.shape, observation)
        into[...] = observation


def is_text(space: gymnasium.Space[Any]) -> bool:
    """Return whether a space contains text, as Gymnasium's `Text` and the missions of MiniGrid do."""
    return space.dtype is not None and np.dtype(space.dtype).kind == "U"


@dataclass(frozen=True)
class SpaceLeaf:
    """One simple space within an observation.

    Attributes:
        path: The keys of the Dicts and Tuples around it.
        lo: Its first index in the flat vector.
        hi: One past its last index.
    """

    path: tuple[str | int, ...]
    space: gymnasium.Space[Any]
    lo: int
    hi: int


class FlatWriter:
    """Writes observations of discrete spaces, and of Dicts and Tuples, as one vector in the order of the space.

    Choices are one-hot. A vector of one-hot parts only is stored as bits; a vector with numbers as float32, in which
    bytes are divided by their highest value. Text is ignored.

    Attributes:
        item: The field.
        slices: The range of each part of a Dict or Tuple.
        ignored: The names of the parts that are text.
    """

    def __init__(self, name: str, space: gymnasium.Space[Any]) -> None:
        self._name, end = name, 0
        self._leaves: list[SpaceLeaf] = []
        self.ignored = tuple(dotted(path) for path, part in simple_spaces(space) if path and is_text(part))
        for path, part in _leaves(name, space):
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
            images=tuple((leaf.lo, shape) for leaf in boxes if (shape := _image_shape(leaf.space))),
        )
        self.slices: Mapping[str, tuple[int, int]] = {
            dotted(leaf.path): (leaf.lo, leaf.hi) for leaf in self._leaves if leaf.path
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
                    f"the observation of {self._name} lacks {dotted(leaf.path)!r}, which its space contains"
                ) from error
            self._write(leaf, part, vector[leaf.lo : leaf.hi])
        into[...] = np.packbits(vector, bitorder="little") if self._bits else vector

    def _write(self, leaf: SpaceLeaf, value: Any, into: Array) -> None:
        space, name = leaf.space, f"{self._name}, {dotted(leaf.path)}" if leaf.path else self._name
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


def _leaves(name: str, space: gymnasium.Space[Any]) -> Iterator[tuple[tuple[str | int, ...], gymnasium.Space[Any]]]:
    """Yield the parts that are stored: neither text nor empty ones."""
    for path, part in simple_spaces(space):
        if isinstance(part, Discrete | MultiDiscrete | MultiBinary) or (isinstance(part, Box) and part.low.size):
            yield path, part
        elif not isinstance(part, Box) and not (path and is_text(part)):
            where = f" in {dotted(path)}" if path else ""
            raise UnsupportedSpaces(
                f"{name} has observations {part}{where}; Box, Discrete, MultiDiscrete, MultiBinary and Dict or Tuple "
                f"of these can be trained on: {WRAP}"
            )


def _image_shape(space: gymnasium.Space[Any]) -> tuple[int, ...]:
    shape = space.shape or ()
    return shape if space.dtype == np.uint8 and len(shape) in {2, 3} else ()


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
    if np.shape(value) != shape:
        raise BadParameter(
            f"{name} has observations of shape {shape} and returned one of shape {np.shape(value)}: fix its space"
        )
