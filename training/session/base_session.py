"""The base class of sessions and watched scripts: gate, clock, events, telemetry, viewers."""

from __future__ import annotations

import math
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from ...envs import Task
from ...envs.fields import Array
from ...envs.unknown import UNKNOWN
from ..past.rewinder import Rewinder
from ..ranks import Ranks, SingleRank
from ..telemetry.blocks import TelemetryWriter
from ..telemetry.description import describe
from ..telemetry.events import EventLog
from ..telemetry.records import Level, Phase
from ..telemetry.throughput import TrainingClock
from ..telemetry.timeline import Timeline
from ..trainer import Stopped, Timer
from .gate import Gate
from .monitor import Monitor
from .trainer_processes import ProcessSupervisor
from .viewers import Viewers
from .wait_check import WaitCheck


def _version() -> str:
    """Return the version of this package; an empty text where it is not installed, as for a watched script."""
    try:
        return version("pac-tui")
    except PackageNotFoundError:
        return ""


class BaseSession:
    """A training that viewers can show, pause, step and slow down.

    Args:
        task: The task.
        directory: Where telemetry, gate and socket are.
        linger: Seconds for which it continues without a viewer.
        seed: Seed of the environments.
        ranks: The processes of the training; by default only this one.

    Attributes:
        ranks: The processes of the training, which decide together.
    """

    def __init__(
        self, task: Task, directory: Path, *, linger: float = math.inf, seed: int = 0, ranks: Ranks | None = None
    ) -> None:
        self.task = task
        self.directory = directory
        self.ranks: Ranks = ranks or SingleRank()
        self.events = EventLog()
        self.timer = Timer()
        self.timeline = Timeline()
        self.wait_check: WaitCheck | None = None
        self.timeline.add("training", self.timer.laps.copy)
        self.clock = TrainingClock()
        self.gate = Gate(directory, waiting=self._while_waiting)
        self.monitor = Monitor(
            task,
            self.gate,
            self.timer,
            self.clock,
            on_breakpoint=self._on_breakpoint,
            on_alarm=self._on_alarm,
        )
        self.state, self.view = self.monitor.state, self.monitor.view
        self.counter, self.debugger = self.monitor.counter, self.monitor.debugger
        self.viewers = Viewers(linger)
        self.processes = ProcessSupervisor(task, directory, self.events)
        self.timeline.add_lanes(self.processes.lanes)
        report = partial(self.events.add, Level.ERROR)
        self.rewinder = Rewinder(task, seed, lambda: self.debugger.history, self._show_moment, report, ranks=self.ranks)
        self.monitor.publisher.trace = self.rewinder.trace
        self.state.started = time.time()
        self._facts: dict[str, Any] = {}
        self._generation = self._published_events = 0
        self._writer: TelemetryWriter | None = None
        self._segment_lock = threading.Lock()

    @property
    def writer(self) -> TelemetryWriter:
        """The telemetry segment in use."""
        assert self._writer is not None
        return self._writer

    @property
    def learning(self) -> bool:
        """Whether the training thread is known to compute outside of the environments."""
        return False

    def stop(self) -> None:
        """Request the end; any thread may call this."""
        raise NotImplementedError

    def keep_output(self) -> None:
        """Keep the output of the workers, which are about to end; any thread may call this."""

    def update_view(self) -> None:
        """Combine what the viewers display."""
        self.view.has_viewers = len(self.viewers) > 0
        self.view.look = self.viewers.look()

    def check_viewers(self) -> None:
        """Update what viewers display; stop a training that had no viewer for longer than it may."""
        self.update_view()
        if self.viewers.remaining < 0:
            self.stop()

    # -- publishing ---------------------------------------------------------------------------------------------------

    def open_segment(self, num_envs: int, **facts: Any) -> None:
        """Publish into a new segment for `num_envs` environments, and redirect readers to it."""
        before, self._facts = self._writer, facts
        self._writer = self._next_segment(self.task, num_envs)
        self._write_events()
        self.monitor.attach(self._writer, num_envs)
        if before is not None:
            before.hand_over(self._generation)

    def update_task(self, task: Task) -> None:
        """Publish into a new segment for a task that has more scalars or other boards; counts and history stay.

        Raises:
            SharedMemoryFull: There is no room for the segment; nothing was changed.
        """
        before, writer = self.writer, self._next_segment(task, self.monitor.num_envs)
        with self._segment_lock:  # other threads write into the old segment before the copy, or into the new one
            writer.copy(before)
            self.task, self._writer = task, writer
        self.rewinder.update_task(task)
        self.monitor.update_task(task, writer)
        before.hand_over(self._generation)

    @contextmanager
    def publishing(self) -> Iterator[TelemetryWriter]:
        """Yield the telemetry segment in use, for threads other than the training thread.

        Meanwhile, `update_task` does not copy this segment into the next one, which would lack what is written here.
        The training thread replaces the segment itself, so it writes without the lock.
        """
        with self._segment_lock:
            yield self.writer

    def _next_segment(self, task: Task, num_envs: int) -> TelemetryWriter:
        first = self.ranks.first_env(num_envs)
        place = {"first_env": first, "rank": self.ranks.rank, "ranks": self.ranks.size, "host": socket.gethostname()}
        description = describe(task, version=_version(), pid=os.getpid(), **place, **self._facts)
        writer = TelemetryWriter(description, num_envs, self._generation + 1, self.directory)
        self._generation += 1
        return writer

    def set_phase(self, phase: Phase, message: str, *, progress: float = UNKNOWN) -> None:
        """Publish what the session is doing.

        Raises:
            Stopped: The session was stopped before its first step.
        """
        if phase is Phase.STARTING and self.gate.stopping:
            raise Stopped
        self.state.phase, self.state.message, self.state.progress = phase, message, progress
        self._publish()

    def _publish(self) -> None:
        if self._writer is not None:
            self._write_events()
            self.timeline.write(self._writer)
            self.monitor.publish()

    def _write_events(self) -> None:
        self._published_events = self.events.count
        self.events.write(self.writer)

    def _show_moment(self, moment: Array) -> None:
        """Publish an earlier state of an environment, from the rewinder's thread; it repeats one of an earlier task."""
        with self.publishing() as writer:
            if moment.dtype == writer.array("moment").dtype:
                writer.put("moment", moment)

    # -- at the gate --------------------------------------------------------------------------------------------------

    def pass_gate(self) -> None:
        """Wait until the next step is allowed; the time of waiting is not attributed to a phase."""
        if self.gate.enter():
            self.clock.start()
            self.timer.skip()

    def hold(self) -> None:
        """Wait while the session is paused, without a step."""
        if self.gate.wait_until_open():
            self.clock.start()
            self.timer.skip()

    def _while_waiting(self) -> None:
        """Publish while the training waits at the gate, with the clock stopped while the gate is closed."""
        if self.gate.paused and not self.gate.credits:
            self.clock.stop()
        if self._published_events != self.events.count:  # of other threads, such as a failed process
            self._write_events()
        self.timeline.write(self.writer)
        self.monitor.wait()
        if not self.gate.paused or self.gate.credits:
            self.clock.start()

    def _on_breakpoint(self, text: str, env: int) -> None:
        """Pause before the next step, because a breakpoint hit in environment `env`."""
        self.gate.pause()
        self.events.add(Level.WARNING, text, env)
        self._publish()

    def _on_alarm(self, text: str, env: int, level: Level = Level.WARNING) -> None:
        """Report an alarm."""
        self.events.add(level, text, env)
        self._write_events()
