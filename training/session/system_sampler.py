"""The pulse of a live training: a thread that publishes workers, system figures and viewers."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from ...backends import WorkerStatus, usable_cores
from ...backends.core.base import Backend
from ..telemetry.blocks import TelemetryWriter
from ..telemetry.events import EventLog
from ..telemetry.records import AUDIENCE, SYSTEM, WORKER, Level, encode_clipped
from .gpu import Gpu
from .viewers import Viewers

PERIOD = 0.5  # s
SYSTEM_PERIOD = 1.0
MOST_FAILURES = 10  # different ones that are reported

log = logging.getLogger(__name__)


class SystemSampler:
    """Writes the blocks `workers`, `system` and `viewers` twice a second until stopped.

    Args:
        directory: The directory of the session, whose size is published.
        viewers: The viewers.
        events: Where errors of this thread are reported.
        check_viewers: Called before each pass.
        writer: Returns the segment to write into.
        device: Returns where the policy runs.
    """

    def __init__(
        self,
        directory: Path,
        viewers: Viewers,
        events: EventLog,
        *,
        check_viewers: Callable[[], None],
        writer: Callable[[], TelemetryWriter],
        device: Callable[[], str],
    ) -> None:
        self._directory, self._viewers, self._events = directory, viewers, events
        self._check_viewers, self._writer, self._device = check_viewers, writer, device
        self._backend: Backend | None = None
        self._lock = threading.Lock()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sampler", daemon=True)
        self._own = psutil.Process()
        self._cpu: dict[int, tuple[float, float]] = {}
        self._gpu = Gpu()
        self._failed: set[str] = set()

    def start(self) -> None:
        """Begin to beat."""
        self._thread.start()

    def stop(self) -> None:
        """Beat no more; returns when the thread has ended."""
        self._done.set()
        if self._thread.is_alive():
            self._thread.join()

    def watch(self, backend: Backend | None) -> None:
        """Report the workers of `backend` from now on."""
        with self._lock:
            self._backend = backend

    def _run(self) -> None:
        system_due = 0.0
        while not self._done.wait(PERIOD):
            self._attempt(self._check_viewers)
            self._attempt(self._write_viewers)
            self._attempt(self._write_workers)
            if time.monotonic() >= system_due:
                system_due = time.monotonic() + SYSTEM_PERIOD
                self._attempt(self._write_system)

    def _attempt(self, part: Callable[[], None]) -> None:
        """Do a part of a pass. Whatever it raises is reported once, and the other parts and later passes go on."""
        try:
            part()
        except Exception as error:
            text = f"the sampler thread failed in {part.__name__}: {type(error).__name__}: {error}"
            if text not in self._failed and len(self._failed) < MOST_FAILURES:
                self._failed.add(text)
                self._events.add(Level.ERROR, text)
                log.debug("the sampler thread failed", exc_info=error)

    def _write_viewers(self) -> None:
        viewers, controller = self._viewers, self._viewers.controller
        with self._writer().write("audience") as block:
            block["viewers"] = viewers.joined
            block["controller"] = controller.number if controller else 0
            block["name"] = encode_clipped(controller.name, AUDIENCE["name"].itemsize) if controller else b""

    def _workers(self) -> Sequence[WorkerStatus]:
        with self._lock:
            return self._backend.workers if self._backend is not None else ()

    def _write_workers(self) -> None:
        workers = self._workers()
        with self._writer().write("workers") as table:
            table["used"] = 0
            for row, worker in zip(table, workers, strict=False):
                row["used"], row["pid"], row["lo"], row["hi"] = 1, worker.pid, worker.lo, worker.hi
                row["state"], row["steps"] = worker.state.value.encode(), worker.steps
                row["heartbeat_age"], row["restarts"] = worker.heartbeat, worker.restarts
                row["cpu"], row["rss"] = self._share(worker.pid, worker.cpu_seconds), worker.rss
                row["error"] = encode_clipped(worker.last_error, WORKER["error"].itemsize)

    def _share(self, pid: int, cpu_seconds: float) -> float:
        """CPU of a process in % of one core, since the last look."""
        now = time.monotonic()
        before, then = self._cpu.get(pid, (cpu_seconds, now))
        self._cpu[pid] = (cpu_seconds, now)
        return 100 * (cpu_seconds - before) / (now - then) if now > then else 0.0

    def _write_system(self) -> None:
        own = self._own
        others = [worker for worker in self._workers() if worker.pid != own.pid]
        cpu_seconds = sum(own.cpu_times()[:2]) + sum(worker.cpu_seconds for worker in others)
        memory = psutil.virtual_memory()
        values: dict[str, Any] = {
            "cores": usable_cores(),
            "cpu": max(0.0, self._share(0, cpu_seconds)),
            "cpu_machine": psutil.cpu_percent(),
            "rss": own.memory_info().rss + sum(worker.rss for worker in others),
            "memory": memory.total,
            "memory_used": memory.total - memory.available,
            "shm": _size_of(self._directory),
            "pulse": time.time(),
            **self._gpu.read(self._device()),
        }
        with self._writer().write("system") as system:
            for name in SYSTEM.names or ():
                system[name] = values[name]


def _size_of(directory: os.PathLike[str]) -> int:
    """Bytes of the files of a session's directory; they come and go meanwhile."""
    size = 0
    with os.scandir(directory) as entries:
        for entry in entries:
            with suppress(FileNotFoundError):
                size += entry.stat(follow_symlinks=False).st_size
    return size
