"""A thread that publishes processes, system load and viewers of a session."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ...backends import usable_cores
from ...backends.core.status import usage
from ...backends.system.machine import MachineLoad, machine_memory
from ..own_threads import OwnThread
from ..telemetry.processes import ProcessRole, ProcessStatus, ProcessTable, RateMeter
from ..telemetry.records import AUDIENCE, SYSTEM, Level
from .base_session import BaseSession
from .gpu import Gpu

if TYPE_CHECKING:
    from ...backends.core.base import Backend

PERIOD = 0.5  # s
SYSTEM_PERIOD = 1.0
MAX_FAILURES = 10  # different errors that are reported

log = logging.getLogger(__name__)


class SystemSampler:
    """Writes the blocks `processes`, `system` and `viewers` twice a second until stopped.

    Args:
        session: What is published. It is also checked before each pass.
    """

    def __init__(self, session: BaseSession) -> None:
        self._session = session
        self._checks = [session.check_viewers, session.processes.poll]
        self._table = ProcessTable()
        self._backend: Backend | None = None
        self._lock = threading.Lock()
        self._done = threading.Event()
        self._thread = OwnThread(self._run, "sampler")
        self._load = MachineLoad()
        self._cpu = RateMeter(unknown=0.0)
        self._gpu = Gpu()
        self._failed: set[str] = set()

    def add_check(self, check: Callable[[], None]) -> None:
        """Call a function before each pass, too."""
        self._checks.append(check)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread, and wait for its end."""
        self._done.set()
        if self._thread.is_alive():
            self._thread.join()

    def watch(self, backend: Backend | None) -> None:
        """Publish the workers of `backend` from now on; of no backend if None."""
        with self._lock:
            self._backend = backend

    def _run(self) -> None:
        system_due = 0.0
        while not self._done.wait(PERIOD):
            for check in self._checks:
                self._attempt(check)
            self._attempt(self._write_viewers)
            self._attempt(self._write_processes)
            if time.monotonic() >= system_due:
                system_due = time.monotonic() + SYSTEM_PERIOD
                self._attempt(self._write_system)

    def _attempt(self, part: Callable[[], None]) -> None:
        """Call a part of a pass. An error is reported once, and does not stop the thread."""
        try:
            part()
        except Exception as error:
            text = f"the sampler thread failed in {part.__name__}: {type(error).__name__}: {error}"
            if text not in self._failed and len(self._failed) < MAX_FAILURES:
                self._failed.add(text)
                self._session.events.add(Level.ERROR, text)
                log.debug("the sampler thread failed", exc_info=error)

    def _write_viewers(self) -> None:
        viewers, controller = self._session.viewers, self._session.viewers.controller
        with self._session.publishing() as writer, writer.write("audience") as block:
            number, name = (controller.number, controller.name) if controller else (0, "")
            AUDIENCE.put(block, {"viewers": viewers.joined, "controller": number, "name": name})

    def _processes(self) -> list[ProcessStatus]:
        """Return the workers of the backend, then the processes of the trainer."""
        with self._lock:
            workers = self._backend.workers if self._backend is not None else ()
        return [*map(ProcessStatus.of_worker, workers), *self._trainer_processes()]

    def _trainer_processes(self) -> list[ProcessStatus]:
        """Return the session's process, which acts, and the processes of the trainer; nothing without the latter."""
        found, session = self._session.processes.statuses(), self._session
        if not found:
            return []
        cpu_seconds, rss = usage()
        actor = ProcessStatus(
            role=ProcessRole.ACTOR,
            index=0,
            pid=os.getpid(),
            state=session.state.phase.name.lower(),
            device=session.state.device,
            count=session.counter.counts.steps,
            heartbeat=max(0.0, time.perf_counter() - session.timer.last),
            cpu_seconds=cpu_seconds,
            rss=rss,
        )
        return [actor, *found]

    def _write_processes(self) -> None:
        processes = self._processes()
        with self._session.publishing() as writer:
            left_out = self._table.write(writer, processes)
        if left_out:
            raise OverflowError(f"the table of processes has no room for {left_out} more")

    def _write_system(self) -> None:
        own_seconds, own_rss = usage()
        others = {status.pid: status for status in self._processes() if status.pid != os.getpid()}.values()
        cpu_seconds = own_seconds + sum(status.cpu_seconds for status in others)
        memory, available = machine_memory()
        values: dict[str, Any] = {
            "cores": usable_cores(),
            "cpu": 100 * self._cpu.update(cpu_seconds, time.monotonic()),
            "cpu_machine": self._load.percent(),
            "rss": own_rss + sum(status.rss for status in others),
            "memory": memory,
            "memory_used": memory - available,
            "shm": _size_of(self._session.directory),
            "learning": self._session.learning,
            "pulse": time.time(),
            **self._gpu.read(self._session.state.device),
        }
        with self._session.publishing() as writer, writer.write("system") as system:
            SYSTEM.put(system, values)


def _size_of(directory: os.PathLike[str]) -> int:
    """Return the bytes of the files in a session's directory. Files may be created and removed meanwhile."""
    size = 0
    with os.scandir(directory) as entries:
        for entry in entries:
            with suppress(FileNotFoundError):
                size += entry.stat(follow_symlinks=False).st_size
    return size
