"""What can be said of a worker, and of what happened to it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Literal


class EnvStatus(IntEnum):
    """Health of an environment, the field `status`: that of its worker."""

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
    """Owes a step."""
    DEAD = "dead"
    """Failed; a replacement is on its way unless it failed too often."""
    HUNG = "hung"
    """Has not beaten for its time limit."""


@dataclass(frozen=True)
class WorkerStatus:
    """A worker at one moment.

    Attributes:
        index: Its number.
        pid: Its process.
        lo: Its first environment.
        hi: One past its last environment.
        state: What it is doing.
        steps: Steps finished since it was last started.
        heartbeat: Seconds since its last sign of life.
        restarts: How often it was replaced.
        cpu_seconds: Processor time it has used.
        rss: Resident memory, in bytes.
        last_error: Its last failure in a sentence, or nothing.
    """

    index: int
    pid: int
    lo: int
    hi: int
    state: WorkerState
    steps: int
    heartbeat: float
    restarts: int
    cpu_seconds: float
    rss: int
    last_error: str


@dataclass(frozen=True)
class BackendEvent:
    """Something that a person should know.

    Attributes:
        time: When, in seconds since the epoch.
        level: How bad it is.
        text: What happened.
        worker: The worker it happened to, if to one.
        lo: First environment concerned.
        hi: One past the last.
    """

    time: float
    level: Literal["info", "warning", "error"]
    text: str
    worker: int | None = None
    lo: int = 0
    hi: int = 0
