"""The numbers in an environment's infos."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np

from ..fields import STANDARD_FIELDS
from ..task import LAST
from .board import MODE_OF

MOST, LONGEST = 32, 35
TAKEN = {
    *(item.name for item in STANDARD_FIELDS),
    *("action", "action_mask", "observation", "final_observation", "state", "looked_at", "seen", "bars"),
    *MODE_OF,
    *(LAST + name for name in ("drawn", "seen", "bars", *MODE_OF)),
}
"""Names of other fields of the buffer."""


def numbers_in(info: Mapping[Any, Any]) -> tuple[str, ...]:
    """Return the names of the numbers in an info that can be names of fields."""
    names = (name for name, value in info.items() if isinstance(name, str) and _is_number(value))
    return tuple(name for name in names if name not in TAKEN and len(name.encode()) <= LONGEST)[:MOST]


def number_of(value: Any) -> float:
    """Return a value of an info as a number; NaN if it is not a number."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return math.nan


def _is_number(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return not value.ndim and value.dtype.kind in "biuf"
    return isinstance(value, Real | np.bool_)
