"""Notices at every step of a watched training that an observation is not a number."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ...envs.fields import Array


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
