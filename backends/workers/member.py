"""One worker process as its fleet wait_until it: its words, its files, its end."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import psutil

from ..core.status import WorkerState, WorkerStatus
from .control import BEAT, FAILED, READY, REPLY, REQUEST, STARTING, STATE, STEPS, ControlBlock

ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)
VARIABLE = "PAC_WORKER"
"""The environment variable that a worker and all that it starts have in common."""
ROUNDS, PATIENCE = 5, 1.0
"""How often to look for processes to kill, as those may start others meanwhile; seconds to wait for their end."""
TAIL = 4096
LOG_LIMIT = 1 << 20

# A worker is killed when the thread that spawned it ends, so one thread that lives as long as the process spawns all.
_spawner = ThreadPoolExecutor(1, thread_name_prefix="pac-spawner")
_spares: deque[tuple[subprocess.Popen[bytes], Path]] = deque()
"""Workers that were started ahead, and where their output goes; touched by the spawner alone."""


@dataclass
class Member:
    """A worker as the fleet wait_until it.

    Attributes:
        index: Its number.
        arguments: What its function is called with; `lo` and `hi` say which environments are its own.
        block: Its words.
        log: Where its output goes.
        report: Where it reports a failure.
        process: The process itself.
        spawned: When it was spawned, on the monotonic clock.
        progress: The last sign of life that was seen, and when it was seen to change.
        failures: When it failed, on the monotonic clock.
        last_error: Its last failure in a sentence.
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
        """Whether it takes orders."""
        return self.block.words[STATE] == READY


def start(log: Path, told: bytes) -> subprocess.Popen[bytes]:
    """Spawn a worker whose output goes to `log`, or take one that was started ahead, and tell it what to do."""
    return _spawner.submit(_start, log, told).result()


def start_spare(log: Path, told: bytes, pipe: int) -> None:
    """Spawn a worker that gets `pipe` and loads what `told` says; `start` will tell it what to do."""

    def spawn() -> None:
        process = _spawn(log, pipe)
        _tell(process, told)
        _spares.append((process, log))

    _spawner.submit(spawn).result()


def stop_spares() -> None:
    """End the workers that were started ahead and that nobody took."""

    def end() -> None:
        while _spares:
            process, log = _spares.popleft()
            kill(process)
            _shut(process)
            log.unlink(missing_ok=True)

    _spawner.submit(end).result()


def kill(*processes: subprocess.Popen[bytes]) -> None:
    """Kill workers that have not ended, and every process that they started, and reap them.

    A process that left the worker's process group (a daemon) is found by the variable `PAC_WORKER` of its environment.
    Only one that has also cleared its environment is missed.
    """
    for process in processes:
        with suppress(ProcessLookupError, PermissionError):  # macOS raises the latter for a group of dead processes
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    tokens = {_token(process) for process in processes}
    for _ in range(ROUNDS):
        found = [other for other in psutil.process_iter() if _variable(other) in tokens]
        for other in found:
            with suppress(psutil.Error):
                other.kill()
        if not found:
            return
        psutil.wait_procs(found, PATIENCE)


def _token(process: subprocess.Popen[bytes]) -> str:
    """Return what identifies the processes that a worker started, the last argument of its command line."""
    return str(cast("list[str]", process.args)[-1])


def _variable(process: psutil.Process) -> str | None:
    try:
        return process.environ().get(VARIABLE)
    except (psutil.Error, OSError):
        return None


def tail(log: Path) -> str:
    """Return the end of what a worker printed."""
    data = log.read_bytes() if log.exists() else b""
    return data[-TAIL:].decode(errors="replace")


def status(member: Member) -> WorkerStatus:
    """Return a worker as it is now; shortens a log that has grown too long."""
    words, quads, process = member.block.words, member.block.quads, member.process
    pid = process.pid if process else 0
    used, rss = 0.0, 0
    try:
        known = psutil.Process(pid)
        with known.oneshot():
            times, rss = known.cpu_times(), known.memory_info().rss
            used = times.user + times.system
    except psutil.Error:
        pass
    if member.log.exists() and member.log.stat().st_size > LOG_LIMIT:
        os.truncate(member.log, 0)
    owing = WorkerState.STEPPING if words[REPLY] != words[REQUEST] else WorkerState.READY
    state = {STARTING: WorkerState.STARTING, FAILED: WorkerState.DEAD}.get(words[STATE], owing)
    if member.hung:
        state = WorkerState.HUNG
    elif process is None or process.returncode is not None:
        state = WorkerState.DEAD
    age = max(0.0, time.monotonic() - quads[BEAT] / 1e9) if quads[BEAT] else time.monotonic() - member.spawned
    lo, hi = member.span
    return WorkerStatus(
        member.index, pid, lo, hi, state, quads[STEPS], age, len(member.failures), used, rss, member.last_error
    )


def _start(log: Path, told: bytes) -> subprocess.Popen[bytes]:
    if _spares:
        process, before = _spares.popleft()
        before.replace(log)
    else:
        process = _spawn(log)
    _tell(process, told)
    _shut(process)
    return process


def _spawn(log: Path, *pipes: int) -> subprocess.Popen[bytes]:
    token = secrets.token_hex(8)
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_TRUNC, 0o600)
    try:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "pac.backends.workers.worker", token],
            stdin=subprocess.PIPE,
            stdout=descriptor,
            stderr=descriptor,
            pass_fds=pipes,
            start_new_session=True,
            env={**os.environ, **ONE_THREAD, VARIABLE: token, "PYTHONUNBUFFERED": "1"},
        )
    finally:
        os.close(descriptor)


def _tell(process: subprocess.Popen[bytes], told: bytes) -> None:
    assert process.stdin is not None
    with suppress(BrokenPipeError):  # one that is dead already is found out soon
        process.stdin.write(told + b"\n")
        process.stdin.flush()


def _shut(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    with suppress(BrokenPipeError):
        process.stdin.close()
