"""The numbers in an environment's infos."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

from ..fields import STANDARD_FIELDS
from ..task import LAST, LAST_DRAWN
from ..unknown import UNKNOWN

MOST, LONGEST = 32, 90
"""The most numbers that are read, and the most bytes of a name: with `info/` before it, it is the name of a curve."""
DEEPEST = 4
"""How many dicts around a number are looked into; one may contain itself."""
MOST_ALIKE = 8
"""The most numbers whose names differ only in digits, such as `reward_3`."""
MOST_SHOWN, LONGEST_SHOWN = 4, 30
"""How many names of other numbers are said, and how many of their characters."""
DIGITS = re.compile(r"\d+")
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
                if before.count(".") < DEEPEST:
                    yield from values_in(value, f"{before}{key}.")
            else:
                yield f"{before}{key}", value


def numbers_in(values: Iterable[tuple[str, Any]]) -> list[str]:
    """Return the names of the values that are numbers, except those that the buffer has already."""
    return [name for name, value in values if name and name not in TAKEN and _is_number(value)]


def with_room(names: Iterable[str], known: Sequence[str] = ()) -> tuple[tuple[str, ...], str]:
    """Return the names that fields of the buffer can have, and a sentence about the others; empty if there are none.

    Parts of rewards come first. Of names that differ only in their digits, there is room for a few.

    Args:
        names: The names of numbers that were found.
        known: Names that have room already; they come before all others.
    """
    new = [name for name in dict.fromkeys(names) if name not in known]
    kept, families = list(known), Counter(_family(name) for name in known)
    for name in sorted(new, key=lambda name: "reward" not in name.lower()):
        family = _family(name)
        if len(kept) < MOST and _bytes(name) <= LONGEST and (family == name or families[family] < MOST_ALIKE):
            kept.append(name)
            families[family] += 1
    if not (others := [name for name in new if name not in kept]):
        return tuple(kept), ""
    some = ", ".join(name[:LONGEST_SHOWN] + "..." * (len(name) > LONGEST_SHOWN) for name in others[:MOST_SHOWN])
    more = f" and {len(others) - MOST_SHOWN} more" if len(others) > MOST_SHOWN else ""
    limits = f"at most {MOST} are, {MOST_ALIKE} that differ only in digits, and names of at most {LONGEST} bytes"
    return tuple(kept), f"these numbers in info are not shown: {some}{more} ({limits})"


def _family(name: str) -> str:
    return DIGITS.sub("#", name)


def _bytes(name: str) -> int:
    return len(name.encode(errors="backslashreplace"))


def number_of(value: Any) -> float:
    """Return a value of an info as a number; unknown if it is not a number. Nothing is read from a GPU."""
    if not _is_number(value):
        return UNKNOWN
    try:
        return float(value if isinstance(value, Real | np.bool_) else value.item())
    except (TypeError, ValueError, OverflowError, RuntimeError):
        return UNKNOWN


def number_at(info: Mapping[str, Any], name: str) -> float:
    """Return the number of an info with a name that `numbers_in` returned; unknown if it is missing."""
    value = info.get(name)
    if value is None and "." in name:
        first, _, rest = name.partition(".")
        inner = info.get(first)
        return number_at(inner, rest) if isinstance(inner, Mapping) else UNKNOWN
    return number_of(value)


def _is_number(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.size == 1 and value.dtype.kind in "biuf"
    if hasattr(value, "detach"):  # PyTorch
        return bool(value.numel() == 1 and value.device.type == "cpu" and not value.is_complex())
    return isinstance(value, Real | np.bool_)
