"""The numbers in an environment's infos."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from numbers import Real
from typing import Any

import numpy as np

from ..fields import STANDARD_FIELDS
from ..task import LAST, LAST_DRAWN

MOST, LONGEST = 32, 90
"""The most numbers that are read, and the most bytes of a name: with `info/` before it, it is the name of a curve."""
UNREAD = frozenset({"TimeLimit.truncated", "terminal_observation", "final_obs", "final_observation", "env_id"})
"""Keys that libraries add: what they contain is shown elsewhere."""
BOARDS = ("bars", "cells", "picture", "said", "screen", "seen", "story")
"""The fields that boards of such environments may have."""
TAKEN = {
    *(item.name for item in STANDARD_FIELDS),
    *("action", "action_mask", "observation", "final_observation", "state", "reward_terms", "looked_at", LAST_DRAWN),
    *(before + name for name in BOARDS for before in ("", LAST)),
}
"""Names of other fields of the buffer."""


def values_in(info: Mapping[Any, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the values of an info with their names; those of a dict within it are called `dict.key`."""
    for key, value in info.items():
        if isinstance(key, str) and key not in UNREAD:
            if isinstance(value, Mapping):
                yield from values_in(value, f"{before}{key}.")
            else:
                yield f"{before}{key}", value


def numbers_in(values: Iterable[tuple[str, Any]]) -> list[str]:
    """Return the names of the values that are numbers, except those that the buffer has already."""
    return [name for name, value in values if name not in TAKEN and _is_number(value)]


def with_room(names: Iterable[str]) -> tuple[tuple[str, ...], str]:
    """Return the names that fields of the buffer can have, and a sentence about the others; empty if there are none."""
    short = [name for name in dict.fromkeys(names) if _bytes(name) <= LONGEST]
    long = next((name for name in names if name not in short), "")
    text = f"the name of a number in info has at most {LONGEST} bytes, so {long[:30]}... is not shown" if long else ""
    if len(short) > MOST:
        text = f"an info has more than {MOST} numbers, and the others are not shown"
    return tuple(short[:MOST]), text


def _bytes(name: str) -> int:
    return len(name.encode(errors="backslashreplace"))


def number_of(value: Any) -> float:
    """Return a value of an info as a number; NaN if it is not a number."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError, RuntimeError):  # the last one for tensors of several elements
        return math.nan


def number_at(info: Mapping[str, Any], name: str) -> float:
    """Return the number of an info with a name that `numbers_in` returned; NaN if it is missing."""
    value = info.get(name)
    if value is None and "." in name:
        first, _, rest = name.partition(".")
        inner = info.get(first)
        return number_at(inner, rest) if isinstance(inner, Mapping) else math.nan
    return number_of(value)


def _is_number(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return not value.ndim and value.dtype.kind in "biuf"
    return isinstance(value, Real | np.bool_)
