"""The state of workers, and events for the user."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from enum import Enum, IntEnum, StrEnum
from pathlib import Path
from typing import Literal

TICKS, PAGE_BYTES = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")


class BackendStage(Enum):
    """Which calls a backend accepts."""

    NEW = "new"
    """`start` or `reset`."""
    READY = "ready"
    """A step."""
    STEPPING = "stepping"
    """`wait`, for the pending step."""
    BROKEN = "broken"
    """`close`."""
    CLOSED = "closed"
    """None."""


class EnvStatus(IntEnum):
    """The field `status`: whether the worker of an environment is ready."""

    READY = 0
    HUNG = 1
    DEAD = 2


class WorkerState(StrEnum):
    """What a worker is doing."""

    STARTING = "starting"
    """Spawned, not yet ready."""
    READY = "ready"
    """Waiting for a step."""
    STEPPING = "stepping"
    """Has a pending step."""
    DEAD = "dead"
    """Failed; it is being replaced, unless it failed too often."""
    HUNG = "hung"
    """Gave no sign of life within the time limit."""


@dataclass(frozen=True)
class WorkerStatus:
    """A worker at one moment.

    Attributes:
        pid: Its process.
        lo: Its first environment.
        hi: One past its last environment.
        state: What it is doing.
        steps: Steps finished since it was last started.
        heartbeat: Time since its last sign of life, in s.
        restarts: How often it was replaced.
        cpu_seconds: CPU time, in s.
        rss: Resident memory, in bytes.
        last_error: Its last failure in a sentence, or nothing.
        node: The machine that it runs on; empty for this one.
    """

    index: int
    pid: int
    lo: int
    hi: int
    state: WorkerState
    steps: int
    heartbeat: float
    restarts: int = 0
    cpu_seconds: float = 0.0
    rss: int = 0
    last_error: str = ""
    node: str = ""


def usage(pid: int | None = None) -> tuple[float, int]:
    """Return the CPU time in s and the resident memory in bytes of a process (by default this one), 0 once it ended."""
    if sys.platform == "linux":
        try:
            facts = Path(f"/proc/{pid or os.getpid()}/stat").read_bytes().rpartition(b")")[2].split()
        except OSError:
            return 0.0, 0
        return sum(map(int, facts[11:13])) / TICKS, int(facts[21]) * PAGE_BYTES
    import psutil

    try:
        process = psutil.Process(pid)
        with process.oneshot():
            times = process.cpu_times()
            return times.user + times.system, process.memory_info().rss
    except psutil.Error:
        return 0.0, 0


def private_memory(pid: int) -> int | None:
    """Return the resident memory in bytes that belongs to no file and no other process: heap, stacks, arrays.

    A leak is in it, and neither libraries nor memory that processes share. None where it is unknown.
    """
    if sys.platform != "linux":
        return None
    try:
        _, resident, shared, *_ = Path(f"/proc/{pid}/statm").read_bytes().split()
    except (OSError, ValueError):
        return None
    return (int(resident) - int(shared)) * PAGE_BYTES


@dataclass(frozen=True)
class BackendEvent:
    """A message for the user.

    Attributes:
        time: Seconds since the epoch.
        level: Its severity.
        text: What happened.
        worker: The worker concerned, if it is one.
        lo: First environment concerned.
        hi: One past the last.
    """

    time: float
    level: Literal["info", "warning", "error"]
    text: str
    worker: int | None = None
    lo: int = 0
    hi: int = 0
