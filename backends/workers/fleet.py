"""Worker processes that run one function: start, supervision, replacement, stop."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import time
import weakref
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...envs import apart
from ...envs.apart import kill
from ..core.errors import Failure, WorkerFailed, ending
from ..core.status import WorkerState, WorkerStatus, usage
from ..system.cores import usable_cores
from ..system.futex import fence
from ..system.segment import Segment, own_directory, remove_stale
from . import control
from .control import BEAT, FAILED, READY, REPLY, REQUEST, STARTING, STATE, STEPS, ControlBlock
from .worker import instructions_with

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
        """Whether it accepts commands."""
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


GRACE = 2.0
"""Time limit for workers to close, in s."""
DUMP = 0.2
"""Time limit for a hung worker to write its stack, in s."""
LOOK = 0.02
"""Time between two checks of starting workers, in s."""
MOST_FAILURES = 3
WINDOW = 60.0
"""A worker that fails this often within this time, in s, is not replaced."""


class Fleet:
    """Workers that run one function, each with its own block of a control segment.

    Args:
        target: `module:function`, called in each worker with `(link, arguments)`.
        arguments: Plain data for each worker; the fleet adds `report`, the path of its failure report.
        ready_timeout: Time limit for a worker to get ready, in s.
        hang_timeout: Time without a sign of life after which a worker counts as hung, once it has done a step, in s.
        signs: Returns a number of a worker that changes while it works, in addition to its heartbeat.
        title: What its processes are called in `ps`; by default, workers with their numbers.
    """

    def __init__(
        self,
        target: str,
        arguments: Sequence[Mapping[str, Any]],
        *,
        ready_timeout: float = 60.0,
        hang_timeout: float = 10.0,
        signs: Callable[[int], int] = lambda _: 0,
        title: str = "",
    ) -> None:
        remove_stale()
        self._title = title
        self._target, self._signs = target, signs
        self.ready_timeout, self.hang_timeout = ready_timeout, hang_timeout
        name = f"fleet-{secrets.token_hex(6)}"
        self._segment = Segment.create(name, control.size_of(len(arguments)))
        folder = own_directory()
        self.members = [
            Member(
                index,
                {**given, "report": str(folder / f"{name}-{index}.json")},
                ControlBlock(self._segment, index),
                folder / f"{name}-{index}.log",
                folder / f"{name}-{index}.json",
            )
            for index, given in enumerate(arguments)
        ]
        self._end = weakref.finalize(self, _end, self.members, self._segment)
        try:
            for member in self.members:
                self.spawn(member)
        except BaseException:
            self.stop()
            raise

    def spawn(self, member: Member) -> None:
        """Start or restart a worker, without waiting until it is ready."""
        words = member.block.words
        words[control.STATE] = control.STARTING
        words[control.REPLY] = words[control.REQUEST]
        words[control.FLEET_BLOCKED] = 0
        member.block.quads[control.STEPS] = 0
        member.report.unlink(missing_ok=True)
        instructions = instructions_with(
            target=self._target,
            title=self._title,
            control=str(self._segment.path),
            index=member.index,
            members=len(self.members),
            spin=control.LONG_SPIN if len(self.members) <= usable_cores() else 0,
            report=str(member.report),
            arguments=member.arguments,
        )
        member.spawned = time.monotonic()
        member.process = start(member.log, instructions.encode())
        member.hung = False

    def wait_ready(self) -> None:
        """Wait until all workers are ready.

        Raises:
            WorkerFailed: One failed while starting, or is not ready within the limit; all were stopped.
        """
        for member in self.members:
            while not member.ready:
                failure = self.failure_of(member)
                if failure is not None:
                    self.stop()
                    raise WorkerFailed(failure, "It could not start. Fix the error above and start again.")
                member.block.block_on_reply(member.block.words[control.REPLY] ^ 1, LOOK)
        fence()  # orders what the workers wrote before they were ready

    def observe(self, member: Member) -> None:
        """Measure the time without a sign of life from now."""
        member.progress = self._sign(member), time.monotonic()

    def failure_of(self, member: Member) -> Failure | None:
        """Return how a worker failed: by an exception, a signal, a hang or a slow start; None if it did not."""
        state, process = member.block.words[control.STATE], member.process
        assert process is not None
        if state == control.FAILED:
            return self._failure(member, "it failed")
        code = process.poll()
        if code is not None:
            return self._failure(member, ending(code))
        now = time.monotonic()
        if state == control.STARTING:
            late = now - member.spawned > self.ready_timeout
            return self._failure(member, f"not ready within {self.ready_timeout:g} s") if late else None
        sign = self._sign(member)
        if sign != member.progress[0]:
            member.progress = sign, now
        elif now - member.progress[1] > self._patience(member):
            member.hung = True
            self._dump(member)
            return self._failure(member, f"no sign of life for {self._patience(member):g} s")
        return None

    def refusal_of(self, member: Member) -> str | None:
        """Return why a worker refused its command, if it did; it accepts commands again."""
        if member.block.words[control.STATE] != control.REFUSED:
            return None
        reason: str = json.loads(member.report.read_text())["reason"]
        member.block.words[control.STATE] = control.READY
        return reason

    def replace(self, member: Member, failure: Failure) -> None:
        """Kill a worker and what it started, and start it again.

        Raises:
            WorkerFailed: It failed too often.
        """
        now = time.monotonic()
        member.last_error = failure.summary()
        member.failures.append(now)
        if member.process is not None:
            kill(member.process)
        if sum(now - then < WINDOW for then in member.failures) >= MOST_FAILURES:
            raise WorkerFailed(
                failure, f"It failed {MOST_FAILURES} times within {WINDOW:g} s, so it was not started again."
            )
        self.spawn(member)

    def statuses(self) -> tuple[WorkerStatus, ...]:
        """Return the current status of all workers; empties logs larger than 1 MiB."""
        return tuple(status(member) for member in self.members)

    def stop(self) -> None:
        """Stop all workers, kill those that do not close in time, and remove their files."""
        self._end()

    def _sign(self, member: Member) -> int:
        return hash((member.block.quads[control.BEAT], self._signs(member.index)))

    def _patience(self, member: Member) -> float:
        """Return the hang limit; before its first step a worker may be compiling."""
        return self.hang_timeout if member.block.quads[control.STEPS] else max(self.hang_timeout, self.ready_timeout)

    def _failure(self, member: Member, reason: str) -> Failure:
        lo, hi = member.span
        known = json.loads(member.report.read_text()) if member.report.exists() else {"reason": reason}
        facts = {
            "seed": member.arguments.get("seed", 0),
            "step": member.block.quads[control.STEPS],
            "output": tail(member.log),
        }
        return Failure(member.index, lo, hi, **{**facts, **known})

    def _dump(self, member: Member) -> None:
        """Have a hung worker write its stack into its log; the signal handler needs no interpreter."""
        assert member.process is not None
        size, end = member.log.stat().st_size, time.monotonic() + DUMP
        member.process.send_signal(signal.SIGUSR1)
        while member.log.stat().st_size == size and time.monotonic() < end:
            os.sched_yield()


def end_members(members: Sequence[Member]) -> None:
    """Ask workers to close, and kill those that do not in time, with the processes that they started."""
    running = [(member, member.process) for member in members if member.process is not None]
    for member, _ in running:
        member.block.post(control.CLOSE)
    fence()
    for member, _ in running:
        member.block.wake()
    end = time.monotonic() + GRACE
    for member, process in running:
        if member.ready:
            with suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, end - time.monotonic()))
    kill(*(process for _, process in running))


def _end(members: list[Member], segment: Segment) -> None:
    end_members(members)
    for member in members:
        for path in member.report.parent.glob(f"{member.report.stem}.*"):  # log, report and what a server listens to
            path.unlink(missing_ok=True)
    segment.unlink()
