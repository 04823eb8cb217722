"""A thread that publishes processes, system load and viewers of a session."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from statistics import median
from typing import TYPE_CHECKING, Any

from ...backends import usable_cores
from ...backends.core.memory import available_memory
from ...backends.core.status import private_memory, usage
from ...backends.system.cores import MachineLoad, machine_memory
from ...envs.spaces.drawing import BUDGET
from ...envs.unknown import UNKNOWN
from ..diagnosis.machine import Counters, MachineSample
from ..diagnosis.memory import Who
from ..own_threads import OwnThread
from ..telemetry.processes import ProcessRole, ProcessStatus, ProcessTable, RateMeter
from ..telemetry.records import AUDIENCE, SYSTEM, Level
from .gpu import Gpu
from .services import Services

if TYPE_CHECKING:
    from ...backends.core.base import Backend

PERIOD = 0.5  # s
SYSTEM_PERIOD, LIMITS_PERIOD = 1.0, 10.0
LEAST_WORKERS, LEAST_SECONDS = 3, 5.0
"""Workers, and CPU time of one in s, from which on they are compared."""
MAX_FAILURES = 10  # different errors that are reported

log = logging.getLogger(__name__)


class SystemSampler:
    """Writes the blocks `processes`, `system` and `audience` twice a second until stopped.

    Before each pass, it checks the viewers, and calls `checks`. `processes` returns those of the trainer, `learning`
    whether the training thread is known to compute outside of the environments, and `workers` the ids of a script's
    processes that step an environment each. `name` is what this process is called.
    """

    def __init__(
        self,
        services: Services,
        *checks: Callable[[], None],
        processes: Callable[[], list[ProcessStatus]] = list,
        learning: Callable[[], bool] = lambda: False,
        workers: Callable[[], Sequence[int]] = tuple,
        name: str = "session",
    ) -> None:
        self._publishing, self._directory = services.publishing, services.directory
        self._viewers, self._events, self._state = services.viewers, services.events, services.state
        self._publisher = services.monitor.publisher
        self._machine, self._counters = services.debugger.diagnosis.evidence.machine, Counters()
        self._checks = (services.check_viewers, *checks)
        self._trainer_processes, self._learning, self._script_workers = processes, learning, workers
        self._table = ProcessTable()
        self._backend: Backend | None = None
        self._lock = threading.Lock()
        self._done = threading.Event()
        self._thread = OwnThread(self._run, "sampler")
        self._load = MachineLoad()
        self._cpu, self._shown = RateMeter(unknown=0.0), RateMeter(unknown=0.0)
        self._name = name
        self._withheld, self._limits_due = 0, 0.0  # memory that is free, and that control groups do not allow
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
                self._events.add(Level.ERROR, text)
                log.debug("the sampler thread failed", exc_info=error)

    def _write_viewers(self) -> None:
        controller = self._viewers.controller
        with self._publishing() as writer, writer.write("audience") as block:
            number, name = (controller.number, controller.name) if controller else (0, "")
            AUDIENCE.put(block, {"viewers": self._viewers.joined, "controller": number, "name": name})

    def _processes(self) -> list[ProcessStatus]:
        """Return the workers of the backend, then the processes of the trainer."""
        with self._lock:
            workers = self._backend.workers if self._backend is not None else ()
        return [*map(ProcessStatus.of_worker, workers), *self._trainer_processes()]

    def _write_processes(self) -> None:
        processes = self._processes()
        with self._publishing() as writer:
            left_out = self._table.write(writer, processes)
        if left_out:
            raise OverflowError(f"the table of processes has no room for {left_out} more")

    def _shown_seconds(self) -> float:
        """Return how long publishing and drawing for viewers has taken, in this process and the workers."""
        with self._lock:
            workers = self._backend.drawing_seconds if self._backend is not None else 0.0
        return self._publisher.seconds + BUDGET.spent + workers

    def _write_system(self) -> None:
        own_seconds, own_rss = usage()
        others = {status.pid: status for status in self._processes() if status.pid != os.getpid()}.values()
        cpu_seconds = own_seconds + sum(status.cpu_seconds for status in others)
        memory, available = machine_memory()
        if time.monotonic() >= self._limits_due:
            self._limits_due = time.monotonic() + LIMITS_PERIOD
            self._withheld = max(0, available - available_memory())
        gpu = self._gpu.read(self._state.device)
        self._machine.gpu.add(time.monotonic(), self._gpu.reading())
        values: dict[str, Any] = {
            "cores": usable_cores(),
            "cpu": 100 * self._cpu.update(cpu_seconds, time.monotonic()),
            "cpu_machine": self._load.percent(),
            "shown": 100 * self._shown.update(self._shown_seconds(), time.monotonic()),
            "rss": own_rss + sum(status.rss for status in others),
            "memory": memory,
            "memory_used": memory - available,
            "shm": _size_of(self._directory),
            "learning": self._learning(),
            "pulse": time.time(),
            **gpu,
        }
        with self._publishing() as writer, writer.write("system") as system:
            SYSTEM.put(system, values)
        used = self._state.device.startswith("cuda")
        spent = {status.index: status.cpu_seconds for status in others if status.role is ProcessRole.WORKER}
        script = [(pid, *usage(pid)) for pid in self._script_workers()]
        spent |= {index: seconds for index, (_, seconds, _) in enumerate(script)}
        self._note_memory(own_rss, others, ((pid, rss) for pid, _, rss in script))
        self._machine.add(
            MachineSample(
                time.monotonic(),
                values["rss"],
                available - self._withheld,
                *self._counters.rates(time.monotonic()),
                float(gpu.get("gpu", UNKNOWN)) if used else UNKNOWN,
                *_slowest(spent),
            )
        )

    def _note_memory(self, rss: int, others: Iterable[ProcessStatus], script: Iterable[tuple[int, int]]) -> None:
        """Add the memory of this process, of others, and of a script's, given as ids and resident memory."""
        resident: dict[Who, int] = {(self._name, os.getpid()): rss}
        envs: dict[Who, tuple[int, int]] = {}
        elsewhere: set[Who] = set()
        for status in others:
            who = f"{status.role} {status.name or status.index + 1}", status.pid
            resident[who] = status.rss
            if status.role is ProcessRole.WORKER:
                envs[who] = status.first_env, status.end_env
                elsewhere |= {who} if status.device else set()
        for index, (pid, size) in enumerate(script):
            who = f"process {index + 1}", pid
            resident[who], envs[who] = size, (index, index + 1)
        sizes = {}
        for who, size in resident.items():
            own = None if who in elsewhere else private_memory(who[1])
            if size:  # it runs
                sizes[who] = (size, 0) if own is None else (own, max(0, size - own))
        self._machine.memory.add(time.monotonic(), sizes, envs)


def _slowest(spent: Mapping[int, float]) -> tuple[float, int]:
    """Return the CPU time of the busiest of several workers over the median, and which one it is; 0 of too few."""
    busiest = max(spent, key=spent.__getitem__, default=0)
    usual = median(spent.values()) if len(spent) >= LEAST_WORKERS else 0.0
    return (spent[busiest] / usual, busiest) if spent and spent[busiest] > LEAST_SECONDS and usual else (0.0, 0)


def _size_of(directory: os.PathLike[str]) -> int:
    """Return the bytes of the files in a session's directory. Files may be created and removed meanwhile."""
    size = 0
    with os.scandir(directory) as entries:
        for entry in entries:
            with suppress(FileNotFoundError):
                size += entry.stat(follow_symlinks=False).st_size
    return size
