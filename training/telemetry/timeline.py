"""The timeline of a session: a lane for each thread and process, with its last phases."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from ...backends.system.arrays import ArraySpec, NamedArrays
from ...backends.system.futex import fence
from ...envs.fields import Array
from ..trainer import Lap
from .blocks import TelemetryWriter
from .declared import decoded
from .records import LANE, MAX_LANES, MAX_LAPS


class Lane(NamedTuple):
    """A thread or process and its last phases, oldest first.

    Attributes:
        name: The name of the thread or process.
        pid: Its process id.
        laps: Phases with their begin and end, in s of the monotonic clock, which all processes share.
    """

    name: str
    pid: int
    laps: tuple[Lap, ...]


def laps_specs(processes: int) -> dict[str, ArraySpec]:
    """Return the arrays for the last phases of a number of processes, see `SharedLaps`."""
    return {
        "count": ArraySpec((processes, 1), "int64"),
        "phase": ArraySpec((processes, MAX_LAPS), "S16"),
        "begin": ArraySpec((processes, MAX_LAPS), "float64"),
        "end": ArraySpec((processes, MAX_LAPS), "float64"),
    }


class SharedLaps:
    """The last phases of a process, in shared memory. The process writes them, and the session reads them.

    Args:
        arrays: Arrays created from `laps_specs`.
        index: The number of the process among those that share the arrays.
    """

    def __init__(self, arrays: NamedArrays, index: int) -> None:
        self._count, self._phases, self._begin, self._end = (
            arrays[name][index] for name in ("count", "phase", "begin", "end")
        )
        self._last, self._phase = time.monotonic(), ""

    def lap(self, phase: str) -> None:
        """Attribute the time since the last call to a phase, which is extended if it was the last one, too."""
        now, count = time.monotonic(), int(self._count[0])
        if phase == self._phase:
            self._end[(count - 1) % MAX_LAPS] = now
        else:
            at = count % MAX_LAPS
            self._phases[at], self._begin[at], self._end[at] = phase.encode(), self._last, now
            fence()
            self._count[0], self._phase = count + 1, phase
        self._last = now

    def read(self) -> list[Lap]:
        """Return the phases, oldest first, except the oldest one, which may be overwritten meanwhile."""
        count = int(self._count[0])
        fence()
        places = np.arange(max(0, count - MAX_LAPS + 1), count) % MAX_LAPS
        columns = (array[places].tolist() for array in (self._phases, self._begin, self._end))
        return [Lap(phase.decode(), begin, end) for phase, begin, end in zip(*columns, strict=True)]


class Timeline:
    """The lanes of a session, written by the training thread, or while they are displayed by the sampler."""

    def __init__(self) -> None:
        self._writing = threading.Lock()
        self._lanes: dict[str, Callable[[], Iterable[Lap]]] = {}
        self._sources: list[Callable[[], Iterable[Lane]]] = []

    def add(self, name: str, laps: Callable[[], Iterable[Lap]]) -> None:
        """Add a lane of this process, or replace the one of the same name.

        Args:
            name: Its name.
            laps: Returns its last phases, oldest first, of at most `MAX_PHASES` different names.

        Raises:
            ValueError: There are `MAX_LANES` lanes already.
        """
        if name not in self._lanes and len(self._lanes) == MAX_LANES:
            raise ValueError(f"a timeline has at most {MAX_LANES} lanes")
        self._lanes[name] = laps

    def add_lanes(self, lanes: Callable[[], Iterable[Lane]]) -> None:
        """Add the lanes that a function returns, such as those of processes that come and go."""
        self._sources.append(lanes)

    def lanes(self) -> list[Lane]:
        """Return the last phases of all threads and processes."""
        lanes = [Lane(name, os.getpid(), tuple(laps())) for name, laps in tuple(self._lanes.items())]
        return lanes + [lane for source in self._sources for lane in source()]

    def write(self, writer: TelemetryWriter) -> None:
        """Write the last phases of as many lanes as there is room for."""
        lanes = self.lanes()
        with self._writing, writer.write("timeline") as block:
            block["name"] = b""
            for row, (name, pid, found) in zip(block, lanes, strict=False):
                laps = found[-MAX_LAPS:]
                phases = list(dict.fromkeys(lap.phase for lap in laps))
                LANE.put(row, {"name": name, "pid": pid, "count": len(laps)})
                row["phases"][: len(phases)] = [phase.encode() for phase in phases]
                row["phase"][: len(laps)] = [phases.index(lap.phase) for lap in laps]
                row["begin"][: len(laps)] = [lap.begin for lap in laps]
                row["end"][: len(laps)] = [lap.end for lap in laps]


def read_lanes(block: Array) -> tuple[Lane, ...]:
    """Return the lanes in a block of `LANE`."""
    return tuple(_read_lane(row) for row in block[block["name"] != b""])


def _read_lane(row: np.void) -> Lane:
    names = list(map(decoded, row["phases"].tolist()))
    columns = (row[name][: row["count"]].tolist() for name in ("phase", "begin", "end"))
    laps = tuple(Lap(names[phase], begin, end) for phase, begin, end in zip(*columns, strict=True))
    return Lane(decoded(row["name"]), int(row["pid"]), laps)
