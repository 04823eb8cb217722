"""Supervises the processes that a trainer started."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...backends.system.arrays import NamedArrays
from ...backends.workers.background import BackgroundProcesses, ProcessExit
from ...envs import BadParameter, Task
from ..telemetry.events import EventLog
from ..telemetry.processes import ProcessRole, ProcessStatus
from ..telemetry.records import Level
from ..telemetry.timeline import Lane, SharedLaps, laps_specs
from ..trainer import Envs, ProcessFailed

TARGET = "pac.training.session.attached:run"


class SupervisedProcesses:
    """The processes of one call of `Context.start_processes`. Any thread may call the methods.

    Args:
        function: The function that they call, as `module:function`.
        arguments: The arguments of `attached.run` in each of them.
        events: Where failures are reported.
        names: Their names.
        devices: Where they compute.
    """

    def __init__(
        self,
        function: str,
        arguments: Sequence[dict[str, Any]],
        events: EventLog,
        names: Sequence[str] = (),
        devices: Sequence[str] = (),
    ) -> None:
        self._names = list(names) or [f"process {number} of {function}" for number in range(1, 1 + len(arguments))]
        self._devices = list(devices) or [""] * len(arguments)
        self._arguments = arguments
        self._events = events
        self._lock = threading.Lock()
        self._processes = BackgroundProcesses()
        self._laps = NamedArrays.create(laps_specs(len(arguments)), "laps")
        assert self._laps.segment is not None
        for index, given in enumerate(arguments):
            given["laps"] = {"path": str(self._laps.segment.path), "processes": len(arguments), "index": index}
        self._restarts, self._errors = [-1] * len(arguments), [""] * len(arguments)
        self._failures: list[ProcessFailed] = []  # that were not raised yet
        for index in range(len(arguments)):
            self.restart(index)

    def poll(self) -> None:
        """Report the processes that have failed since the last call."""
        with self._lock:
            for ended in self._processes.poll():
                if ended.failed:
                    failed = ProcessFailed(self._names.index(ended.name), _describe(ended))
                    self._errors[failed.index] = ended.reason
                    self._failures.append(failed)
                    self._events.add(Level.ERROR, str(failed))

    def check(self) -> None:
        """Raise `ProcessFailed` if one has failed, once per failure."""
        if self._failures:
            raise self._failures.pop(0)

    def restart(self, index: int) -> None:
        """Start a process again after it has ended."""
        with self._lock:
            title = f"learner {index + 1}"
            self._processes.start(self._names[index], TARGET, self._arguments[index], title=title)
            self._restarts[index] += 1

    def statuses(self) -> list[ProcessStatus]:
        """Return all running processes as they are now."""
        with self._lock:
            running = self._processes.statuses()
        return [
            replace(
                ProcessStatus.of_worker(running[name]),
                role=ProcessRole.LEARNER,
                index=index,
                name=name,
                device=self._devices[index],
                restarts=self._restarts[index],
                error=self._errors[index],
            )
            for index, name in enumerate(self._names)
            if name in running
        ]

    def lanes(self) -> list[Lane]:
        """Return the last phases of all running processes."""
        return [
            Lane(status.name, status.pid, tuple(SharedLaps(self._laps, status.index).read()))
            for status in self.statuses()
        ]

    def close(self) -> None:
        """Stop all processes; those that do not end within 2 s are killed."""
        with self._lock:
            self._processes.stop()
            self._failures.clear()
            self._laps.unlink()


def _describe(ended: ProcessExit) -> str:
    """Return the reason, the traceback and the last output of a failure, on several lines."""
    output = ended.output.rstrip() and f"Its last output:\n{ended.output.rstrip()}"
    return "\n".join(filter(None, (f"{ended.name} failed: {ended.reason}", ended.traceback.rstrip(), output)))


class ProcessSupervisor:
    """All processes of a session's trainer. Their failures are reported as events."""

    def __init__(self, task: Task, directory: Path, events: EventLog) -> None:
        self._task, self._directory, self._events = task, directory, events
        self._started: list[SupervisedProcesses] = []

    def start(
        self,
        function: str,
        arguments: Sequence[Mapping[str, Any]],
        envs: Envs,
        *,
        names: Sequence[str] = (),
        devices: Sequence[str] = (),
    ) -> SupervisedProcesses:
        """Start processes, see `pac.training.trainer.StartProcesses`."""
        if envs.segment is None:
            raise BadParameter("processes can map only a buffer in shared memory: set segment in the BufferSpec")
        given = {
            "function": function,
            "spec": self._task.spec,
            "transform": self._task.transform,
            "num_envs": envs.environments,
            "slots": envs.order.slots,
            "ring": envs.order.ring,
            "rollouts": envs.order.rollouts,
            "segment": str(envs.segment.path),
            "directory": str(self._directory),
        }
        processes = SupervisedProcesses(
            function, [{**given, "arguments": dict(one)} for one in arguments], self._events, names, devices
        )
        self._started.append(processes)
        return processes

    def poll(self) -> None:
        """Report the processes that have failed since the last call."""
        for processes in tuple(self._started):
            processes.poll()

    def check(self) -> None:
        """Raise `ProcessFailed` if a process has failed, once per failure."""
        for processes in self._started:
            processes.check()

    def statuses(self) -> list[ProcessStatus]:
        """Return all processes as they are now."""
        return [status for processes in tuple(self._started) for status in processes.statuses()]

    def lanes(self) -> list[Lane]:
        """Return the last phases of all running processes."""
        return [lane for processes in tuple(self._started) for lane in processes.lanes()]

    def close(self) -> None:
        """Stop all processes that the trainer has not stopped."""
        for processes in self._started:
            processes.close()
