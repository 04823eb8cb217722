"""Counts the steps of the environments: totals, episodes, rates and the trainer's metrics.

Steps are counted when something needs the counts, not one by one: the buffer still contains the slots of the running
rollout.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...envs import Task
from ...envs.slots import Span
from ..past.history import MAX_UNCOUNTED
from ..telemetry.blocks import TelemetryWriter
from ..telemetry.counts import Counts
from ..telemetry.metric_history import MetricHistory
from ..telemetry.monitored import MonitoredEnvs
from ..telemetry.throughput import RATE_NAMES, Mark, Throughput, TrainingClock
from ..trainer import PHASES, Timer


class StepCounter:
    """Counts the slots that environments have written.

    Args:
        task: What is trained on.
        timer: Measures the phases of the training thread.
        clock: Measures the time of training.
        on_count: Called after counting, with the steps that were counted and the environments whose episodes ended.

    Attributes:
        counts: Totals and the last episodes.
        series: The figures of all iterations.
        throughput: The rates.
        clock: The same.
        resumed: The counters at the point from which a run was resumed.
    """

    def __init__(
        self, task: Task, timer: Timer, clock: TrainingClock, on_count: Callable[[Span, Sequence[int]], None]
    ) -> None:
        self.counts = Counts(task)
        self.series = MetricHistory()
        self.throughput = Throughput()
        self.clock = clock
        self.resumed = Mark(0.0, 0, 0)
        self._timer, self._on_count = timer, on_count
        self._source: MonitoredEnvs | None = None
        self._counted = 0  # the head of the buffer's slots up to which steps are counted

    def attach(self, writer: TelemetryWriter, num_envs: int) -> None:
        """Write the figures of iterations into `writer`, made for `num_envs` environments that `begin` will name."""
        self._source = None
        self.counts.resize(num_envs)
        self.series.attach(writer)

    def begin(self, source: MonitoredEnvs) -> None:
        """Count the steps of `source`, whose episodes have just begun."""
        self._source, self._counted = source, source.buffer.order.head
        self.throughput.reset(source.buffer.num_envs, self.mark())

    @property
    def newest(self) -> int:
        """The slot that was written last."""
        return self._source.buffer.order.newest if self._source is not None else 0

    @property
    def uncounted(self) -> int:
        """Number of steps that are not counted yet."""
        return self._source.buffer.order.head - self._counted if self._source is not None else 0

    @property
    def must_count(self) -> bool:
        """Whether steps must be counted before the next one: it would overwrite a slot, or they are many."""
        assert self._source is not None
        return self._source.buffer.order.room(self._counted) < 1 or self.uncounted >= MAX_UNCOUNTED

    def count(self) -> None:
        """Count the steps that were made since the last time."""
        if self._source is None:
            return
        buffer, counted = self._source.buffer, self._counted
        self._counted = buffer.order.head
        for span in buffer.order.since(counted):
            self._on_count(span, self.counts.add(buffer, span.written))

    def mark(self) -> Mark:
        """Return the counters of now."""
        self.count()
        phases = tuple(self._timer.seconds[phase] for phase in PHASES)
        return Mark(self.clock.now(), self.counts.frames, self.counts.steps, phases)

    def resume(self, counters: Mapping[str, Any], seconds: float, rows: Sequence[Mapping[str, float]]) -> None:
        """Continue the counts of a run.

        Args:
            counters: What was counted, as `Counts.state` returned it.
            seconds: How long it had been trained.
            rows: Some lines of its metrics, oldest first.
        """
        self.counts.load_state(counters)
        self.clock.add(seconds)
        self.series.resume(rows, self.counts.iterations)
        self.resumed = self.mark()

    def end_iteration(self, metrics: Mapping[str, float]) -> dict[str, float]:
        """Record the trainer's figures; return them together with the session's own."""
        self.count()
        self._timer.lap("python")  # a window begins where its first phase does
        self.counts.iterations += 1
        self.throughput.add(self.mark())
        row = self.figures() | {name: float(value) for name, value in metrics.items()}
        self.series.append(row, self.counts, self.clock.now())
        return row

    def figures(self) -> dict[str, float]:
        """Return the session's own figures: the rates, once they are known, and means of the last episodes."""
        rates = dict(zip(RATE_NAMES, self.throughput.rates(self.mark()), strict=True)) if self.throughput.known else {}
        return rates | self.counts.figures()
