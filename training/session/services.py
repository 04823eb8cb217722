"""What trainings and watched scripts have in common: viewers see them through telemetry and control them by a gate."""

from __future__ import annotations

import math
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
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
from ..telemetry.findings import Finding
from ..telemetry.records import Level, Phase
from ..telemetry.throughput import TrainingClock
from ..telemetry.timeline import Timeline
from ..trainer import Stopped, Timer
from .gate import Gate
from .monitor import Monitor
from .viewers import Viewers
from .worker_timing import WorkerTiming


def _version() -> str:
    """Return the version of this package; an empty text where it is not installed, as for a watched script."""
    try:
        return version("pac-tui")
    except PackageNotFoundError:
        return ""


class Services:
    """What viewers see of a session, and how they control it: telemetry, gate, clock, events, viewers.

    A training and a watched script each have one, and say what else happens at the gate.

    Args:
        task: The task.
        directory: Where telemetry, gate and socket are.
        linger: Seconds for which the session continues without a viewer.
        seed: Seed of the environments.
        ranks: The processes of the training; by default only this one.
        stop: Requests the end of the session, from any thread; by default, the gate stops it.
        waiting: Called while the training thread waits at the gate; by default `wait`, which it calls, too.
        refresh: Called before the session's state is published.
        on_breakpoint: Called when a breakpoint hits; by default `break_at`, which it calls, too.

    Attributes:
        task: The task, with the scalars that were found later.
        state: What the session is doing.
        view: What viewers display.
    """

    def __init__(
        self,
        task: Task,
        directory: Path,
        *,
        linger: float = math.inf,
        seed: int = 0,
        ranks: Ranks | None = None,
        stop: Callable[[], None] | None = None,
        waiting: Callable[[], None] | None = None,
        refresh: Callable[[], None] = lambda: None,
        on_breakpoint: Callable[[str, int], None] | None = None,
    ) -> None:
        self.task, self.directory = task, directory
        self._ranks: Ranks = ranks or SingleRank()
        self.events = EventLog()
        self.timer = Timer()
        self.timeline = Timeline()
        self.timeline.add("training", self.timer.last_laps)
        self.clock = TrainingClock()
        self.waiting = waiting or self.wait
        self.gate = Gate(directory, waiting=self.waiting)
        self.stop = stop or self.gate.stop
        self.monitor = Monitor(
            task,
            self.gate,
            self.timer,
            self.clock,
            on_breakpoint=on_breakpoint or self.break_at,
            on_finding=self.report_finding,
        )
        self.state, self.view = self.monitor.state, self.monitor.view
        self.counter, self.debugger = self.monitor.counter, self.monitor.debugger
        self.worker_timing = WorkerTiming(self.publishing, self.view, self.timeline)
        self.viewers = Viewers(linger)
        report = partial(self.events.add, Level.ERROR)
        self.rewinder = Rewinder(task, seed, lambda: self.debugger.history, self.show_moment, report, ranks=ranks)
        self.monitor.publisher.trace = self.rewinder.trace
        self.state.started = time.time()
        self._refresh = refresh
        self._facts: dict[str, Any] = {}
        self._generation = self._published_events = 0
        self._writer: TelemetryWriter | None = None
        self._segment_lock = threading.Lock()

    # -- what viewers see ---------------------------------------------------------------------------------------------

    @property
    def writer(self) -> TelemetryWriter:
        """The telemetry segment in use."""
        assert self._writer is not None
        return self._writer

    @contextmanager
    def publishing(self) -> Iterator[TelemetryWriter]:
        """Yield the telemetry segment in use, for threads other than the training thread.

        Meanwhile, `update_task` does not copy this segment into the next one, which would lack what is written here.
        The training thread replaces the segment itself, so it writes without the lock.
        """
        with self._segment_lock:
            yield self.writer

    def open_segment(self, num_envs: int, **facts: Any) -> None:
        """Publish into a new segment for `num_envs` environments, and redirect readers to it."""
        before, self._facts = self._writer, facts
        self._writer = self._next_segment(self.task, num_envs)
        self.write_events()
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

    def _next_segment(self, task: Task, num_envs: int) -> TelemetryWriter:
        first = self._ranks.first_env(num_envs)
        place = {"first_env": first, "rank": self._ranks.rank, "ranks": self._ranks.size, "host": socket.gethostname()}
        description = describe(task, version=_version(), pid=os.getpid(), **place, **self._facts)
        writer = TelemetryWriter(description, num_envs, self._generation + 1, self.directory)
        self._generation += 1
        return writer

    def show_moment(self, moment: Array) -> None:
        """Publish an earlier state of an environment, from the rewinder's thread; it repeats one of an earlier task."""
        with self.publishing() as writer:
            if moment.dtype == writer.array("moment").dtype:
                writer.put("moment", moment)

    def set_phase(self, phase: Phase, message: str, *, progress: float = UNKNOWN) -> None:
        """Publish what the session is doing.

        Raises:
            Stopped: The session was stopped before its first step.
        """
        if phase is Phase.STARTING and self.gate.stopping:
            raise Stopped
        self.state.phase, self.state.message, self.state.progress = phase, message, progress
        self.publish()

    def publish(self) -> None:
        """Publish everything, now."""
        self._refresh()
        if self._writer is not None:
            self.write_events()
            self._write_lanes()
            self.monitor.publish()

    def write_events(self) -> None:
        """Publish the events."""
        self._published_events = self.events.count
        self.events.write(self.writer)

    def _write_lanes(self) -> None:
        """Publish the lanes, unless they are displayed: then the sampler does, together with those of workers."""
        if not self.view.look.timeline:
            self.timeline.write(self.writer)

    def break_at(self, text: str, env: int) -> None:
        """Pause before the next step, because a breakpoint hit in environment `env`."""
        self.gate.pause()
        self.events.add(Level.WARNING, text, env)
        self.publish()

    def report_finding(self, finding: Finding, level: Level | None = None) -> None:
        """Report a finding that has begun."""
        self.events.add(level or finding.level, f"diagnosis: {finding.text}", finding.env)
        self.write_events()

    # -- how they control it ------------------------------------------------------------------------------------------

    @property
    def ending(self) -> bool:
        """Whether the session was asked to stop, or is ending by itself."""
        return self.gate.stopping or self.state.ending

    def update_view(self) -> None:
        """Combine what the viewers display."""
        self.view.has_viewers = len(self.viewers) > 0
        self.view.look = self.viewers.look()

    def check_viewers(self) -> None:
        """Update what viewers display; stop a training that had no viewer for longer than it may."""
        self.update_view()
        if self.viewers.remaining < 0:
            self.stop()

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

    def wait(self) -> None:
        """Publish while the training waits at the gate, with the clock stopped while the gate is closed."""
        if self.gate.paused and not self.gate.credits:
            self.clock.stop()
        if self._published_events != self.events.count:  # of other threads, such as a failed process
            self.write_events()
        self._write_lanes()
        self.monitor.wait()
        if not self.gate.paused or self.gate.credits:
            self.clock.start()
