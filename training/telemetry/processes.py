"""The processes of a session, of all roles, as one table of the telemetry."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from ...backends import WorkerStatus
from ...envs.unknown import UNKNOWN
from .blocks import TelemetryWriter
from .records import PROCESS

RATE_PERIOD = 1.0  # s, the shortest time over which a rate is measured


class ProcessRole(StrEnum):
    """What a process does in a session."""

    WORKER = "worker"
    """It steps environments."""
    ACTOR = "actor"
    """It computes actions and steps the environments; learners are separate processes."""
    LEARNER = "learner"
    """It updates a network."""
    RANK = "rank"
    """A session that trains together with other sessions."""


@dataclass(frozen=True, kw_only=True)
class ProcessStatus:
    """A process, or a thread that does the same work, at one moment.

    Attributes:
        role: What it does.
        index: Its number among the processes of this role, from 0.
        name: Its name; empty if it has only a number.
        pid: Its process id.
        state: What it is doing, in a word.
        device: Where it computes: a device, or the node of a worker on another machine; empty if unknown.
        first_env: The first environment that it steps.
        end_env: One past the last environment that it steps.
        count: Steps of a worker or actor, updates of a learner or rank, since its start.
        heartbeat: Seconds since its last heartbeat.
        restarts: How often it was replaced.
        cpu_seconds: CPU time that it has used.
        rss: Resident memory, in bytes.
        error: Its last failure in a sentence; empty if it had none.
    """

    role: ProcessRole
    index: int
    pid: int
    state: str
    name: str = ""
    device: str = ""
    first_env: int = 0
    end_env: int = 0
    count: int = 0
    heartbeat: float = 0.0
    restarts: int = 0
    cpu_seconds: float = 0.0
    rss: int = 0
    error: str = ""

    @classmethod
    def of_worker(cls, worker: WorkerStatus) -> ProcessStatus:
        """Return a worker of a backend as a process of a session."""
        return cls(
            role=ProcessRole.WORKER,
            index=worker.index,
            pid=worker.pid,
            state=worker.state.value,
            device=worker.node,
            first_env=worker.lo,
            end_env=worker.hi,
            count=worker.steps,
            heartbeat=worker.heartbeat,
            restarts=worker.restarts,
            cpu_seconds=worker.cpu_seconds,
            rss=worker.rss,
            error=worker.last_error,
        )


class RateMeter:
    """Measures how fast a counter increases.

    Args:
        period: The shortest time over which a rate is measured, in s.
        unknown: The rate before the first measurement.
    """

    def __init__(self, period: float = 0.0, unknown: float = UNKNOWN) -> None:
        self._period, self._rate = period, unknown
        self._before: tuple[float, float] | None = None

    def update(self, value: float, now: float) -> float:
        """Take the counter's value at a time in s; return its increase per second. A counter may restart at 0."""
        if self._before is None:
            self._before = value, now
        before, then = self._before
        if now > then and now - then >= self._period:
            self._rate = max(0.0, value - before) / (now - then)
            self._before = value, now
        return self._rate


class ProcessTable:
    """Writes the table of processes, with their rates; used by one thread."""

    def __init__(self) -> None:
        self._meters: dict[tuple[ProcessRole, int, int], tuple[RateMeter, RateMeter]] = {}

    def write(self, writer: TelemetryWriter, statuses: Sequence[ProcessStatus]) -> int:
        """Write as many processes as the table has rows; return the number of those that had no row."""
        now = time.monotonic()
        meters = {(one.role, one.index, one.pid): (RateMeter(unknown=0.0), RateMeter(RATE_PERIOD)) for one in statuses}
        self._meters = {key: self._meters.get(key, new) for key, new in meters.items()}
        with writer.write("processes") as table:
            table["role"] = b""
            for row, status in zip(table, statuses, strict=False):
                cpu, rate = self._meters[status.role, status.index, status.pid]
                known = {name: value for name, value in vars(status).items() if name != "cpu_seconds"}
                PROCESS.put(row, known)
                row["cpu"], row["rate"] = 100 * cpu.update(status.cpu_seconds, now), rate.update(status.count, now)
        return max(0, len(statuses) - len(table))
