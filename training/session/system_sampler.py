"""A thread that publishes processes, system load and viewers of a session."""

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

from ...backends import usable_cores
from ...backends.core.base import Backend
from ..telemetry.blocks import TelemetryWriter
from ..telemetry.events import EventLog
from ..telemetry.processes import ProcessStatus, ProcessTable, RateMeter, worker_processes
from ..telemetry.records import AUDIENCE, SYSTEM, Level, encode_clipped
from .gpu import Gpu
from .viewers import Viewers

PERIOD = 0.5  # s
SYSTEM_PERIOD = 1.0
MAX_FAILURES = 10  # different ones that are reported

log = logging.getLogger(__name__)


class SystemSampler:
    """Writes the blocks `processes`, `system` and `viewers` twice a second until stopped.

    Args:
        directory: The directory of the session, whose size is published.
        viewers: The viewers.
        events: Where errors of this thread are reported.
        checks: Called before each pass.
        writer: Returns the segment to write into.
        device: Returns where the policy runs.

    Attributes:
        processes: The processes of the session. The workers of the backend are among them.
    """

    def __init__(
        self,
        directory: Path,
        viewers: Viewers,
        events: EventLog,
        *,
        checks: Sequence[Callable[[], None]],
        writer: Callable[[], TelemetryWriter],
        device: Callable[[], str],
    ) -> None:
        self._directory, self._viewers, self._events = directory, viewers, events
        self._checks, self._writer, self._device = checks, writer, device
        self.processes = ProcessTable()
        self.processes.add(self._workers)
        self._backend: Backend | None = None
        self._lock = threading.Lock()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sampler", daemon=True)
        self._own = psutil.Process()
        self._cpu = RateMeter(unknown=0.0)
        self._gpu = Gpu()
        self._failed: set[str] = set()

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread, and wait for its end."""
        self._done.set()
        if self._thread.is_alive():
            self._thread.join()

    def watch(self, backend: Backend | None) -> None:
        """Publish the workers of `backend` from now on; None publishes none."""
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
        """Do a part of a pass. An error is reported once; the other parts and later passes continue."""
        try:
            part()
        except Exception as error:
            text = f"the sampler thread failed in {part.__name__}: {type(error).__name__}: {error}"
            if text not in self._failed and len(self._failed) < MAX_FAILURES:
                self._failed.add(text)
                self._events.add(Level.ERROR, text)
                log.debug("the sampler thread failed", exc_info=error)

    def _write_viewers(self) -> None:
        viewers, controller = self._viewers, self._viewers.controller
        with self._writer().write("audience") as block:
            block["viewers"] = viewers.joined
            block["controller"] = controller.number if controller else 0
            block["name"] = encode_clipped(controller.name, AUDIENCE["name"].itemsize) if controller else b""

    def _workers(self) -> Sequence[ProcessStatus]:
        with self._lock:
            return worker_processes(self._backend.workers if self._backend is not None else ())

    def _write_processes(self) -> None:
        left_out = self.processes.write(self._writer(), self.processes.statuses())
        if left_out:
            raise OverflowError(f"the table of processes has no room for {left_out} more")

    def _write_system(self) -> None:
        own = self._own
        others = {status.pid: status for status in self.processes.statuses() if status.pid != own.pid}.values()
        cpu_seconds = sum(own.cpu_times()[:2]) + sum(status.cpu_seconds for status in others)
        memory = psutil.virtual_memory()
        values: dict[str, Any] = {
            "cores": usable_cores(),
            "cpu": 100 * self._cpu.update(cpu_seconds, time.monotonic()),
            "cpu_machine": psutil.cpu_percent(),
            "rss": own.memory_info().rss + sum(status.rss for status in others),
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
    """Bytes of the files of a session's directory; files may come and go meanwhile."""
    size = 0
    with os.scandir(directory) as entries:
        for entry in entries:
            with suppress(FileNotFoundError):
                size += entry.stat(follow_symlinks=False).st_size
    return size
