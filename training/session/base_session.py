"""What is live of a training: gate, clock, events, telemetry. A session is one, a watched script is another."""

from __future__ import annotations

import math
import os
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from ...envs import Task
from ...envs.fields import Array
from ..past.rewinder import Rewinder
from ..telemetry.blocks import TelemetryWriter
from ..telemetry.description import describe
from ..telemetry.events import EventLog
from ..telemetry.records import MESSAGE_BYTES, Level, Phase, encode_clipped
from ..telemetry.throughput import TrainingClock
from ..trainer import Stopped, Timer
from .gate import Gate
from .monitor import Monitor
from .system_sampler import SystemSampler
from .viewers import Viewers


class BaseSession:
    """A training that can be seen, paused, stepped and slowed.

    Args:
        task: What is trained on.
        directory: Where telemetry, gate and socket stand.
        linger: Seconds that it goes on without a viewer.
        seed: Seed of the environments.

    Attributes:
        device: Where the policy runs.
    """

    def __init__(self, task: Task, directory: Path, *, linger: float = math.inf, seed: int = 0) -> None:
        self.task = task
        self.directory = directory
        self.device = ""
        self.events = EventLog()
        self.timer = Timer()
        self.gate = Gate(directory, waiting=self._while_waiting)
        self.clock = TrainingClock()
        self.monitor = Monitor(task, self.gate, self.timer, self.clock)
        self.monitor.on_episode = self._on_episode_end
        self.monitor.on_break = self._on_breakpoint
        self.monitor.alarms.ring = self._on_alarm
        self.viewers = Viewers(linger)
        self.sampler = SystemSampler(
            directory,
            self.viewers,
            self.events,
            check_viewers=self._check_viewers,
            writer=lambda: self.writer,
            device=lambda: self.device,
        )
        self.rewinder = Rewinder(task, seed, lambda: self.monitor.detail.history, self._show_moment)
        self._until_env: int | None = None
        self._generation = 0
        self._writer: TelemetryWriter | None = None
        self._started = time.time()

    @property
    def writer(self) -> TelemetryWriter:
        """The segment that is published into."""
        assert self._writer is not None
        return self._writer

    @property
    def current_num_envs(self) -> int:
        """The N of the environments that stand."""
        raise NotImplementedError

    def stop(self) -> None:
        """End it soon."""
        raise NotImplementedError

    def run_to_end_of_episode(self, env: int | None) -> None:
        """Pause when environment `env` ends its episode; None forgets that."""
        self._until_env = env
        self.monitor.waits = env is not None
        self.gate.resume()

    def _check_viewers(self) -> None:
        """Let the monitor know what viewers look at; stop what had no viewer for longer than it lingers."""
        self.monitor.watched = len(self.viewers) > 0
        self.monitor.look = self.viewers.look()
        if self.viewers.remaining < 0:
            self.stop()

    # -- publishing ---------------------------------------------------------------------------------------------------

    def _open_segment(self, num_envs: int, **facts: Any) -> None:
        """Publish into a new segment, made for `num_envs`, and send the readers there."""
        before, self._generation = self._writer, self._generation + 1
        description = describe(self.task, version=version("pac-tui"), pid=os.getpid(), **facts)
        self._writer = TelemetryWriter(self.task, description, num_envs, self._generation, self.directory)
        self.events.write(self._writer)
        self.monitor.attach(self._writer, num_envs)
        if before is not None:
            before.hand_over(self._generation)

    def set_phase(self, phase: Phase, message: str, **more: Any) -> None:
        """Publish what is being done."""
        if phase is Phase.STARTING and self.gate.stopping:
            raise Stopped
        self.monitor.state.update(
            {
                "phase": phase,
                "message": encode_clipped(message, MESSAGE_BYTES),
                "progress": np.nan,
                "device": self.device,
                "started": self._started,
            },
            **more,
        )
        self._publish()

    def _publish(self) -> None:
        self.monitor.state["baseline"] = self.monitor.throughput.baseline or np.nan
        if self._writer is not None:
            self.events.write(self._writer)
            self.monitor.publish()

    def _show_moment(self, moment: Array) -> None:
        """Publish what an environment was some steps ago."""
        with self.writer.write("moment") as block:
            block[...] = moment

    # -- at the gate --------------------------------------------------------------------------------------------------

    def pass_gate(self) -> None:
        """Wait until the next step may be; how long that took belongs to no phase."""
        if self.gate.enter():
            self.clock.go()
            self.timer.skip()

    def _while_waiting(self) -> None:
        """Keep viewers informed while the gate is closed, and the clock still."""
        self.clock.stop()
        self.monitor.idle()
        if not self.gate.paused or self.gate.credits:
            self.clock.go()

    def _on_episode_end(self, env: int) -> None:
        if env == self._until_env:
            self._until_env = None
            self.monitor.waits = False
            self.gate.pause()

    def _on_breakpoint(self, text: str, env: int) -> None:
        """Stop at a breakpoint that hit in environment `env`, before the next step."""
        self.gate.pause()
        self.events.add(Level.WARNING, text, env)
        self.events.write(self.writer)
        self.monitor.publish()

    def _on_alarm(self, text: str, env: int, level: Level = Level.WARNING) -> None:
        """Tell of an alarm."""
        self.events.add(level, text, env)
        self.events.write(self.writer)
