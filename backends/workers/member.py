"""Starts, observes and kills one worker process."""

from __future__ import annotations

import os
import subprocess
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...envs import apart
from ...envs.apart import kill
from ..core.status import WorkerState, WorkerStatus, usage
from .control import BEAT, FAILED, READY, REPLY, REQUEST, STARTING, STATE, STEPS, ControlBlock

ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)
TAIL = 4096
LOG_LIMIT = 1 << 20

# Linux kills a worker when the thread that started it ends, so one thread that never ends starts all.
_spawner = ThreadPoolExecutor(1, thread_name_prefix="pac-spawner")
_spares: deque[tuple[subprocess.Popen[bytes], Path]] = deque()
"""Spare workers and their log files; used by the spawner's thread only."""


@dataclass
class Member:
    """A worker process of a fleet.

    Attributes:
        arguments: The arguments of its function; `lo` and `hi` are the bounds of its environments.
        block: Its part of the control segment.
        log: The file with its output.
        report: The file with its failure report.
        spawned: Time of its start, by the monotonic clock.
        progress: The last sign of life, and the time of its last change.
        failures: Times of its failures, by the monotonic clock.
        last_error: Its last failure in one sentence.
        hung: Whether it was found hanging.
    """

    index: int
    arguments: dict[str, Any]
    block: ControlBlock
    log: Path
    report: Path
    process: subprocess.Popen[bytes] | None = None
    spawned: float = 0.0
    progress: tuple[int, float] = (0, 0.0)
    failures: list[float] = field(default_factory=list)
    last_error: str = ""
    hung: bool = False

    @property
    def span(self) -> tuple[int, int]:
        """Its environments."""
        return self.arguments.get("lo", 0), self.arguments.get("hi", 0)

    @property
    def ready(self) -> bool:
        """Whether it accepts orders."""
        return self.block.words[STATE] == READY


def start(log: Path, instructions: bytes) -> subprocess.Popen[bytes]:
    """Start a worker with output to `log`, or take a spare one, and send it its instructions."""
    return _spawner.submit(_start, log, instructions).result()


def start_spare(log: Path, instructions: bytes, pipe: int) -> None:
    """Start a spare worker that inherits `pipe` and loads the kernels named in `instructions`."""

    def spawn() -> None:
        process = _spawn(log, pipe)
        _send(process, instructions)
        _spares.append((process, log))

    _spawner.submit(spawn).result()


def stop_spares() -> None:
    """Kill the spare workers that no fleet took."""

    def end() -> None:
        while _spares:
            process, log = _spares.popleft()
            kill(process)
            _shut(process)
            log.unlink(missing_ok=True)

    _spawner.submit(end).result()


def tail(log: Path) -> str:
    """Return the last 4 KiB of a worker's output."""
    data = log.read_bytes() if log.exists() else b""
    return data[-TAIL:].decode(errors="replace")


def status(member: Member) -> WorkerStatus:
    """Return the current status of a worker; empties a log larger than 1 MiB."""
    words, quads, process = member.block.words, member.block.quads, member.process
    pid = process.pid if process else 0
    if member.log.exists() and member.log.stat().st_size > LOG_LIMIT:
        os.truncate(member.log, 0)
    busy_or_ready = WorkerState.STEPPING if words[REPLY] != words[REQUEST] else WorkerState.READY
    state = {STARTING: WorkerState.STARTING, FAILED: WorkerState.DEAD}.get(words[STATE], busy_or_ready)
    if member.hung:
        state = WorkerState.HUNG
    elif process is None or process.returncode is not None:
        state = WorkerState.DEAD
    age = max(0.0, time.monotonic() - quads[BEAT] / 1e9) if quads[BEAT] else time.monotonic() - member.spawned
    restarts = len(member.failures)
    return WorkerStatus(
        member.index, pid, *member.span, state, quads[STEPS], age, restarts, *usage(pid), member.last_error
    )


def _start(log: Path, instructions: bytes) -> subprocess.Popen[bytes]:
    if _spares:
        process, before = _spares.popleft()
        before.replace(log)
    else:
        process = _spawn(log)
    _send(process, instructions)
    _shut(process)
    return process


def _spawn(log: Path, *pipes: int) -> subprocess.Popen[bytes]:
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_TRUNC, 0o600)
    try:
        return apart.start(
            "pac.backends.workers.worker",
            variables={**ONE_THREAD, "PYTHONUNBUFFERED": "1"},
            stdin=subprocess.PIPE,
            stdout=descriptor,
            stderr=descriptor,
            pass_fds=pipes,
        )
    finally:
        os.close(descriptor)


def _send(process: subprocess.Popen[bytes], instructions: bytes) -> None:
    assert process.stdin is not None
    with suppress(BrokenPipeError):  # the fleet notices a dead worker itself
        process.stdin.write(instructions)
        process.stdin.flush()


def _shut(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    with suppress(BrokenPipeError):
        process.stdin.close()
