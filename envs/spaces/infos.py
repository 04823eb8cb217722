"""The numbers in an environment's infos."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..fields import STANDARD_FIELDS, Array, Buffers, Field
from ..task import LARGE, LARGE_OF, LAST, LAST_DRAWN, LOOKED_AT, Task, TaskTransform
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
    *("action", "action_mask", "observation", "final_observation", "state", "reward_terms"),
    *(LOOKED_AT, LAST_DRAWN, LARGE, LARGE_OF),
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


ROOM = 8
"""Numbers for which there is room."""
COLUMNS = tuple(f"late {index}" for index in range(ROOM))
FOUND, NAMES = "late found", "late names"
"""The field in which workers report a name, and that of the names of the columns: a byte that is 1, and the name."""
MAX_SEARCHES = 256
"""Searches for new names, because an environment may keep adding some."""
LATE_INFOS: TaskTransform = "pac.envs.spaces.infos:with_late_infos", {}
"""The transform that makes room for them."""
ADAPTED = "pac.envs.gym."
"""What the factories of foreign environments begin with."""


def with_late_infos(task: Task, settings: Mapping[str, Any]) -> Task:  # noqa: ARG001 - a `TaskTransform` takes some
    """Return the task with room for numbers that are found later."""
    columns = (number_field(task, name) for name in COLUMNS)
    found = Field(FOUND, "uint8", (1 + LONGEST,), timed=False)
    return replace(task, late=(*columns, found, Field(NAMES, "uint8", (ROOM, 1 + LONGEST), per="all", timed=False)))


def number_field(task: Task, name: str) -> Field:
    """Return the field of a number that is found later."""
    return Field(name, "float32", per="seat" if task.players > 1 else "env")


class Everything(set[Any]):
    """A set that contains everything."""

    def issuperset(self, other: Iterable[Any]) -> bool:  # noqa: ARG002
        """Whether it contains all of them."""
        return True


class LateInfos:
    """What one worker knows of the numbers in the infos of its environments.

    Args:
        part: The worker's rows of the fields.

    Attributes:
        keys: The keys of infos that need not be looked at.
    """

    def __init__(self, task: Task, part: Buffers) -> None:
        self.keys: set[Any] = set() if task.late else Everything()
        self._names = {FOUND, NAMES, *COLUMNS, *(item.name for item in task.info)}
        self._waiting: deque[bytes] = deque()
        self._searches = self._adopted = 0
        if task.late:
            self._own, self._table = part[FOUND][0, 0], part[NAMES][0, 0]

    def look(self, info: Mapping[Any, Any]) -> None:
        """Note the numbers of an info whose names are new."""
        if self._searches == MAX_SEARCHES:
            self.keys = Everything()
            return
        keys = {key for key, value in info.items() if not isinstance(value, Mapping)}
        new = [(name, value) for name, value in values_in(info) if name not in self._names]
        if new or not keys <= self.keys:
            self._searches += 1
            self.keys |= keys
            self._names.update(name for name, _ in new)
            self._waiting.extend(text for name in numbers_in(new) if len(text := _encoded(name)) <= LONGEST)

    def exchange(self) -> list[tuple[str, str]]:
        """Report a name that waits; return names that have been assigned since the last call, with their columns."""
        if self._waiting and not self._own[0]:
            _write(self._own, self._waiting.popleft())
        assigned = []
        while self._adopted < ROOM and self._table[self._adopted, 0]:
            name = _read(self._table[self._adopted])
            self._names.add(name)
            assigned.append((name, COLUMNS[self._adopted]))
            self._adopted += 1
        return assigned


class LateNames:
    """The names that a session has assigned to the columns of a buffer.

    Args:
        buffer: The arrays of a task with room for them.
        names: The names that earlier buffers of the session had.
    """

    def __init__(self, buffer: dict[str, Array], names: Iterable[str] = ()) -> None:
        self._buffer, self._reports = buffer, buffer[FOUND][0]
        self._flags: NDArray[np.uint8] = self._reports[:, 0]
        self._none = bytes(len(self._flags))
        self.names: list[str] = []
        for name in names:
            self.add(name)

    def __bool__(self) -> bool:
        """Whether a worker has reported a name."""
        return self._flags.tobytes() != self._none

    def take(self) -> list[str]:
        """Return the names that were reported and are new."""
        found = {_read(report): None for report in self._reports[self._flags != 0]}
        self._flags[:] = 0
        return [name for name in found if name not in self.names]

    def add(self, name: str) -> None:
        """Assign the next column to a name, and show it under that name in the buffer."""
        column = self._buffer[COLUMNS[len(self.names)]]
        column[...] = UNKNOWN
        self._buffer[name] = column
        _write(self._buffer[NAMES][0, 0, len(self.names)], _encoded(name))
        self.names.append(name)


def _encoded(name: str) -> bytes:
    return name.encode(errors="surrogatepass")


def _write(row: Array, text: bytes) -> None:
    row[1:] = 0
    row[1 : 1 + len(text)] = np.frombuffer(text, np.uint8)
    row[0] = 1  # last: a worker that starts may read while this is written


def _read(row: Array) -> str:
    return row[1:].tobytes().rstrip(b"\0").decode(errors="surrogatepass")
