"""Numbers in infos that appear after an environment was described.

The buffer has columns without names. A worker reports the name of a number that it has found, the session assigns the
next column to it between two steps, and all workers write the number there from their next step on. So a worker writes
only its own report, and the session only the names.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..fields import Array, Buffers, Field
from ..task import Task, TaskTransform
from ..unknown import UNKNOWN
from .infos import LONGEST, numbers_in, values_in

ROOM = 8
"""Numbers for which there is room."""
COLUMNS = tuple(f"late {index}" for index in range(ROOM))
FOUND, NAMES = "late found", "late names"
"""The field in which workers report a name, and that of the names of the columns: a byte that is 1, and the name."""
MAX_SEARCHES = 256
"""Searches for new names, because an environment may keep adding some."""
LATE_INFOS: TaskTransform = "pac.envs.spaces.late_infos:with_late_infos", {}
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
