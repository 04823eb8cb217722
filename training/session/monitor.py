"""Follows the steps of the environments, in the training thread: counts, debugs and publishes them."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Mapping
from threading import get_ident
from typing import Any

from ...envs import Task
from ..telemetry.blocks import TelemetryWriter
from ..telemetry.counts import Counts
from ..telemetry.findings import Finding
from ..telemetry.monitored import MonitoredEnvs
from ..telemetry.snapshot import ViewRequest
from ..telemetry.throughput import TrainingClock
from ..trainer import Timer
from .counting import StepCounter
from .debugging import Debugger
from .gate import Gate
from .publishing import Publisher, SessionState
from .viewers import View


class Monitor:
    """Decides after each step whether to count, to check breakpoints and to publish.

    `on_breakpoint` is that of the debugger, `on_finding` is called with a finding that has begun.

    Attributes:
        state: What the session is doing.
        view: What viewers display.
        counter: Counts steps.
        debugger: Keeps steps, and checks breakpoints and has the diagnosis.
        publisher: Writes the telemetry.
        num_envs: Number of environments N.
    """

    def __init__(
        self,
        task: Task,
        gate: Gate,
        timer: Timer,
        clock: TrainingClock,
        *,
        on_breakpoint: Callable[[str, int], None],
        on_finding: Callable[[Finding], None],
    ) -> None:
        self.state, self.view, counts = SessionState(), View(), Counts(task)
        self.debugger = Debugger(task, self.view, counts, clock, gate, on_breakpoint=on_breakpoint)
        self.debugger.diagnosis.on_begin = on_finding
        self.counter = StepCounter(task, timer, clock, counts, self.debugger)
        self.publisher = Publisher(task, self.state, self.view, self.counter, self.debugger, gate=gate)
        self._gate, self._timer = gate, timer
        self.num_envs = 0
        self._stepping = False
        self._speed = self._redrawing = 0.0
        self._drawn: tuple[int, ViewRequest, bool] | None = None

    def attach(self, writer: TelemetryWriter, num_envs: int) -> None:
        """Publish into `writer`, for `num_envs` environments that `begin` will provide."""
        self.num_envs, self._stepping = num_envs, False
        self.counter.attach(writer, num_envs)
        self.debugger.resize(num_envs)
        self.publisher.attach(writer, num_envs)
        self.publish()

    def begin(self, source: MonitoredEnvs, *, resumed: bool = False) -> None:
        """Follow the environments of `source`, whose episodes have just begun in slot 0, or are `resumed` there."""
        self._stepping = True
        self._gate.set_num_envs(self.num_envs)
        self.debugger.begin(source, resumed=resumed)
        self.counter.begin(source)
        self.publisher.begin(source)

    def update_task(self, task: Task, writer: TelemetryWriter) -> None:
        """Continue with a task that has more scalars, and publish into `writer`."""
        self.counter.update_task(task, writer)
        self.debugger.update_task(task)
        self.publisher.update_task(task, writer)
        self.publish()

    def step(self) -> None:
        """Process the steps that were made since the last call, as far as necessary now."""
        counter, debugger = self.counter, self.debugger
        debugger.keep_boards(counter.uncounted)
        due = time.perf_counter() >= self.publisher.due
        every = debugger.needs_every_step
        if due or every or counter.must_count:
            counter.count(wait=due or every)
            if due:
                self.publish()

    def wait(self) -> None:
        """Publish while the training waits at the gate."""
        self._timer.skip()
        self.publish(at_gate=True)

    def end_iteration(self, metrics: Mapping[str, float]) -> dict[str, float]:
        """Record the trainer's metrics; return them together with the session's own."""
        row = self.counter.end_iteration(metrics, limited=self.state.speed > 0)
        if self.debugger.diagnosis.evidence.log(row, self.counter.counts.steps):
            self.diagnose()
        return row

    def publish(self, *, at_gate: bool = False) -> None:
        """Write everything that viewers display, now; `at_gate` if the training waits there."""
        counter, mark = self.counter, self.counter.mark()
        if self._stepping:
            if self.state.speed != self._speed:  # an average over both limits would describe neither
                self._speed = self.state.speed
                counter.throughput.restart_window(mark)
            self.debugger.check_pace(counter.throughput.rates(mark)[1])
            if self.debugger.diagnosis.budget.due:
                self.diagnose()
        self.publisher.publish(mark, at_gate=at_gate)

    def diagnose(self) -> None:
        """Check what is wrong with the training, now."""
        diagnosis, counter = self.debugger.diagnosis, self.counter
        evidence = diagnosis.evidence
        evidence.steps, mark = counter.counts.steps, counter.mark()
        evidence.windows, evidence.scaling = counter.throughput.windows, counter.throughput.scaling()
        evidence.spend(self.num_envs, counter.throughput.shares(mark), counter.throughput.rates(mark)[0])
        evidence.machine.thread = get_ident()
        torch: Any = sys.modules.get("torch")
        evidence.threads = torch.get_num_threads() if hasattr(torch, "get_num_threads") else 0
        diagnosis.check(counter.clock.now())

    def redraw(self, draw: Callable[[], object], spare: float = math.inf) -> None:
        """Have environments that draw on request `draw` their boards between two steps, if viewers need new ones.

        Args:
            draw: Draws those that are requested.
            spare: Seconds for which the training waits anyway; nothing is drawn if that took longer before.
        """
        if spare <= self._redrawing:
            return
        view = self.view
        drawn, self._drawn = self._drawn, (self.counter.counts.steps, view.look, view.has_viewers)
        if view.has_viewers and drawn != self._drawn:
            begun = time.perf_counter()
            draw()
            self._redrawing = time.perf_counter() - begun
            self.debugger.keep_boards(0)
            self.publish(at_gate=True)
