"""Counts the steps of the environments: totals, episodes, rates and the trainer's metrics.

Steps are counted when something needs the counts, not one by one: the buffer still contains the slots of the running
rollout.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...backends.core.layout import Buffer
from ...envs import Task
from ...envs.slots import SlotOrder
from ..past.history import MAX_UNCOUNTED
from ..telemetry.blocks import TelemetryWriter
from ..telemetry.counts import Counts
from ..telemetry.metric_history import MetricHistory
from ..telemetry.monitored import MonitoredEnvs
from ..telemetry.step_results import StepReader
from ..telemetry.throughput import RATE_NAMES, Mark, Throughput, TrainingClock
from ..trainer import PHASES, Timer
from .debugging import Debugger


class StepCounter:
    """Counts the slots that environments have written; then the debugger observes their steps.

    Attributes:
        counts: Totals and the last episodes.
        series: The metrics of all iterations.
        throughput: The rates.
        resumed: The counters at the point from which a run was resumed.
    """

    def __init__(self, task: Task, timer: Timer, clock: TrainingClock, counts: Counts, debugger: Debugger) -> None:
        self.counts = counts
        self.series = MetricHistory()
        self.throughput = Throughput()
        self.clock = clock
        self.resumed = Mark(0.0, 0, 0)
        self._task, self._timer, self._debugger = task, timer, debugger
        self._order = SlotOrder(1)
        self._reader: StepReader | None = None
        self._buffer: Buffer | None = None
        self._counted = 0  # the head of the buffer at the last count

    def attach(self, writer: TelemetryWriter, num_envs: int) -> None:
        """Write the metrics of iterations into `writer`, for `num_envs` environments that `begin` will provide."""
        self.settle()
        self._reader, self._buffer, self._order, self._counted = None, None, SlotOrder(1), 0
        self.counts.resize(num_envs)
        self.series.attach(writer)

    def begin(self, source: MonitoredEnvs) -> None:
        """Count the steps of `source`, whose episodes have just begun in slot 0."""
        self._buffer, self._order = source.buffer, source.buffer.order
        self._reader = StepReader(self._task, source.buffer)
        self._counted = self._order.head
        self.throughput.reset(source.buffer.num_envs, self.mark())

    def update_task(self, task: Task, writer: TelemetryWriter) -> None:
        """Continue with a task that has more scalars, and write the metrics of iterations into `writer`."""
        self.count()
        self._task = task
        self.counts.update_task(task)
        self.series.attach(writer)
        if self._buffer is not None:
            self._reader = StepReader(task, self._buffer)

    @property
    def newest(self) -> int:
        """The slot that was written last."""
        return self._order.newest

    @property
    def uncounted(self) -> int:
        """Number of steps that are not counted yet."""
        return self._order.head - self._counted

    @property
    def must_count(self) -> bool:
        """Whether steps must be counted before the next one: it overwrites their slots, or they are too many."""
        return self._order.room(self._counted) == 0 or self.uncounted >= MAX_UNCOUNTED

    def count(self, *, wait: bool = True) -> None:
        """Count the steps since the last call; without `wait`, only those whose results have arrived."""
        if self._reader is not None and self.uncounted:
            spans, self._counted = self._order.since(self._counted), self._order.head
            debugger = self._debugger
            newest, recorded = {*debugger.breakpoints.fields, *self.counts.chosen}, debugger.recorded
            states = debugger.expect(sum(span.steps for span in spans))
            for span in spans:
                self._reader.request(
                    span,
                    newest=newest,
                    recorded=recorded,
                    values=debugger.values(span.acted),
                    states=states and span is spans[-1],
                )
        self.settle(wait=wait)

    def settle(self, *, wait: bool = True) -> None:
        """Count the steps whose results were requested; without `wait`, only those whose results have arrived."""
        for results in self._reader.delivered(wait=wait) if self._reader is not None else ():
            self.counts.add(results)
            self._debugger.observe(results)

    def mark(self) -> Mark:
        """Return the current counters."""
        self.count()
        phases = tuple(self._timer.seconds[phase] for phase in PHASES)
        return Mark(self.clock.now(), self.counts.frames, self.counts.steps, phases)

    def resume(self, counters: Mapping[str, Any], seconds: float, rows: Sequence[Mapping[str, float]]) -> None:
        """Continue the counts of a run.

        Args:
            counters: The counters, as `Counts.state` returned them.
            seconds: Seconds of training so far.
            rows: Some lines of its metrics, oldest first.
        """
        self.counts.load_state(counters)
        self.clock.add(seconds)
        self.series.resume(rows, self.counts.iterations)
        self.resumed = self.mark()

    def end_iteration(self, metrics: Mapping[str, float], *, limited: bool = False) -> dict[str, float]:
        """Record the trainer's metrics; return them with the session's own. `limited` if there is a speed limit."""
        self.count()
        self._timer.lap("python")  # a window begins where its first phase does
        mark = self.mark()
        shares = self.counts.end_iteration()
        self.throughput.add(mark, limited=limited)
        row = self.metrics() | {name: float(value) for name, value in metrics.items()} | shares
        self.series.append(row, self.counts, self.clock.now())
        return row

    def metrics(self) -> dict[str, float]:
        """Return the session's own metrics: the rates, once known, and means of the last episodes."""
        rates = dict(zip(RATE_NAMES, self.throughput.rates(self.mark()), strict=True)) if self.throughput.known else {}
        return rates | self.counts.metrics()
