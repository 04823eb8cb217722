"""What the threads and processes of a session did last: a lane for each, with the phases that it went through."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from ...envs.fields import Array
from ..trainer import Lap
from .blocks import TelemetryWriter
from .records import LANE, MAX_LANES, MAX_LAPS, encode_clipped


@dataclass(frozen=True)
class Lane:
    """A thread or process and its last phases, oldest first.

    Attributes:
        name: The name of the thread or process.
        pid: Its process id.
        laps: Phases with their begin and end, in s of the monotonic clock, which all processes share.
    """

    name: str
    pid: int
    laps: tuple[Lap, ...]


class Timeline:
    """The lanes of a session, written by the training thread."""

    def __init__(self) -> None:
        self._lanes: dict[str, tuple[int, Callable[[], Iterable[Lap]]]] = {}

    def add(self, name: str, laps: Callable[[], Iterable[Lap]], pid: int | None = None) -> None:
        """Add a lane.

        Args:
            name: Its name.
            laps: Returns its last phases, oldest first; they have at most `MAX_PHASES` names.
            pid: Its process id; default this process.

        Raises:
            ValueError: There are `MAX_LANES` lanes already.
        """
        if len(self._lanes) == MAX_LANES:
            raise ValueError(f"a timeline has at most {MAX_LANES} lanes")
        self._lanes[name] = (os.getpid() if pid is None else pid, laps)

    def write(self, writer: TelemetryWriter) -> None:
        """Write the last phases of all lanes."""
        with writer.write("timeline") as block:
            for row, (name, (pid, source)) in zip(block, self._lanes.items(), strict=False):
                laps = list(source())[-MAX_LAPS:]
                phases = list(dict.fromkeys(lap.phase for lap in laps))
                row["name"], row["pid"], row["count"] = encode_clipped(name, LANE["name"].itemsize), pid, len(laps)
                row["phases"][: len(phases)] = [phase.encode() for phase in phases]
                row["phase"][: len(laps)] = [phases.index(lap.phase) for lap in laps]
                row["begin"][: len(laps)] = [lap.begin for lap in laps]
                row["end"][: len(laps)] = [lap.end for lap in laps]


def read_lanes(block: Array) -> tuple[Lane, ...]:
    """Return the lanes in a block of `LANE`."""
    return tuple(_read_lane(row) for row in block[block["name"] != b""])


def _read_lane(row: np.void) -> Lane:
    names = [phase.decode(errors="replace") for phase in row["phases"].tolist()]
    columns = (row[name][: row["count"]].tolist() for name in ("phase", "begin", "end"))
    laps = tuple(Lap(names[phase], begin, end) for phase, begin, end in zip(*columns, strict=True))
    return Lane(row["name"].decode(errors="replace"), int(row["pid"]), laps)
