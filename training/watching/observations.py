"""What the environments of a watched script observe: its parts by name, as numbers and as a picture."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...envs import Field
from ...envs.fields import Array
from ...envs.spaces.drawing import MOST_BARS, in_color, is_picture, picture_shape
from ...envs.spaces.kinds import dotted, named

NUMERIC = "biuf"
"""The kinds of dtypes that contain numbers."""
Path: TypeAlias = tuple[str | int, ...]


def each_part(whole: Any, make: Callable[[Any], Any]) -> Any:
    """Return an observation or action with `make` called for each part, whatever Dicts and Tuples it is made of."""
    if isinstance(whole, Mapping):
        return {name: each_part(part, make) for name, part in whole.items()}
    if isinstance(whole, tuple):
        return tuple(each_part(part, make) for part in whole)
    return make(whole)


def observation_of(observations: Any, env: int) -> Any:
    """Return what one environment observes, out of a batch."""
    return each_part(observations, lambda batch: batch[env] if isinstance(batch, np.ndarray) else None)


def parts_of(observation: Any, path: Path = ()) -> Iterator[tuple[Path, Array]]:
    """Yield the parts of an observation that are numbers, with the keys of the Dicts and Tuples around them."""
    if isinstance(observation, Mapping | tuple):
        for key, part in observation.items() if isinstance(observation, Mapping) else enumerate(observation):
            yield from parts_of(part, (*path, key))
        return
    numbers = np.asarray(observation)
    if numbers.dtype.kind in NUMERIC:
        yield path, numbers


@dataclass(frozen=True)
class _NumberPart:
    """A part that is shown as numbers: where they are among all numbers that are shown."""

    path: Path
    lo: int
    hi: int


class ObservationParts:
    """The parts of observations, which are alike in all environments.

    Attributes:
        field: The numbers that are shown: the first ones of all parts but the picture.
        labels: A name for each number.
        slices: The ranges of named parts.
        picture: The size of the picture that is shown, `(H, W)`; None if there is none.
        picture_name: The name of the part that it is; empty if it is the whole observation.
    """

    def __init__(self, observation: Any) -> None:
        parts = list(parts_of(observation))
        seen = next((path for path, part in parts if _is_shown_as_picture(path, part)), None)
        self._picture = seen
        self.picture = None if seen is None else picture_shape(dict(parts)[seen].shape)
        self.picture_name = dotted(seen or ())
        self._numbers: list[_NumberPart] = []
        labels: list[str] = []
        for path, part in parts:
            if part.size and len(labels) < MOST_BARS and (path != seen or not path):
                names = named(path, part.size)[: MOST_BARS - len(labels)] if path else _indices(part)
                self._numbers.append(_NumberPart(path, len(labels), len(labels) + len(names)))
                labels += names
        self.labels = tuple(labels) or ("",)
        self.field = Field("observation", "float32", (len(self.labels),), per="seat")
        self.slices = {dotted(part.path): (part.lo, part.hi) for part in self._numbers if part.path}

    def numbers(self, observation: Any) -> NDArray[np.float32]:
        """Return the numbers of an observation that are shown; those of a missing part are 0."""
        found, numbers = dict(parts_of(observation)), np.zeros(len(self.labels), np.float32)
        for part in self._numbers:
            known = np.ravel(found.get(part.path, ()))[: part.hi - part.lo]
            numbers[part.lo : part.lo + len(known)] = known
        return numbers

    def in_color(self, observation: Any) -> NDArray[np.uint8] | None:
        """Return the picture in an observation, `(H, W, 3)`: the newest of a stack of frames; None if it is missing."""
        found = dict(parts_of(observation)).get(self._picture) if self._picture is not None else None
        return None if found is None or picture_shape(found.shape) is None else in_color(found)


def _is_shown_as_picture(path: Path, part: Array) -> bool:
    """Whether a part is an image; an observation of nothing else may be a small one."""
    whole = not path and part.ndim == 3 and picture_shape(part.shape) is not None
    return part.dtype == np.uint8 and (whole or is_picture(part.shape))


def _indices(part: Array) -> list[str]:
    return [str(index) for index in range(min(MOST_BARS, part.size))]
