"""Notices at every step of a watched training that an observation is not a number."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...envs.fields import Array
from ..guards.alarms import unknown_rows

SMALL = 4096
"""Up to so many bytes, a look at a batch costs more than a copy for a look at many."""
asarray = np.asarray


def floats_of(observations: Any) -> Iterator[Array]:
    """Return the arrays of floating-point numbers in a batch of observations, whatever its space is made of."""
    if isinstance(observations, np.ndarray):
        if observations.dtype.kind == "f":
            yield observations
    elif isinstance(observations, Mapping | tuple):
        for part in observations.values() if isinstance(observations, Mapping) else observations:
            yield from floats_of(part)


def unknown(observations: Any) -> bool:
    """Return whether a number is none in a batch of observations.

    A sum of squares is not a number where one of them is none; it warns of nothing, and costs one pass.
    """
    if isinstance(observations, np.ndarray):
        if observations.dtype.kind != "f":
            return False
        flat = observations.reshape(-1)
        return math.isnan(flat.dot(flat))
    return any(unknown(part) for part in floats_of(observations))


class Unknowns:
    """Whose observations are not numbers: finds them all, those of small batches when it is asked.

    Args:
        observations: A batch.
    """

    def __init__(self, observations: Any) -> None:
        small = isinstance(observations, np.ndarray) and observations.dtype.kind == "f" and observations.nbytes <= SMALL
        self._type = observations.dtype if small else None
        self._envs = len(observations) if small else 0
        self._copies: list[bytes] = []
        self._found: list[NDArray[np.intp]] = []

    def note(self, observations: Any) -> None:
        """Take in what is observed after a step."""
        if self._type is not None:
            self._copies.append(asarray(observations, self._type).tobytes())
        elif unknown(observations):
            self._found.extend(unknown_rows(part[None]) for part in floats_of(observations))

    def take(self) -> NDArray[np.intp]:
        """Return the environments that were found since the last time."""
        if self._copies:
            copies = np.frombuffer(b"".join(self._copies), self._type)
            self._found.append(unknown_rows(copies.reshape(len(self._copies), self._envs, -1)))
        found = np.unique(np.concatenate([*self._found, np.zeros(0, np.intp)]))
        self._copies.clear()
        self._found.clear()
        return found
