"""Counts the steps of the environments: totals, episodes, rates and the trainer's metrics.

Steps are counted when something needs the counts, not one by one: the buffer still contains the slots of the running
rollout.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...envs import Task, next_slot
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
        on_count: Called after counting, with the slots that were counted and the environments whose episodes ended.

    Attributes:
        counts: Totals and the last episodes.
        series: The figures of all iterations.
        throughput: The rates.
        clock: The same.
        resumed: The counters at the point from which a run was resumed.
        newest: The slot that was written last.
    """

    def __init__(
        self, task: Task, timer: Timer, clock: TrainingClock, on_count: Callable[[slice, Sequence[int]], None]
    ) -> None:
        self.counts = Counts(task)
        self.series = MetricHistory()
        self.throughput = Throughput()
        self.clock = clock
        self.resumed = Mark(0.0, 0, 0)
        self.newest = 0
        self._timer, self._on_count = timer, on_count
        self._source: MonitoredEnvs | None = None
        self._slots = 1
        self._counted = 0
        self._stepped = False

    def attach(self, writer: TelemetryWriter, num_envs: int) -> None:
        """Write the figures of iterations into `writer`, made for `num_envs` environments that `begin` will name."""
        self._source = None
        self.counts.resize(num_envs)
        self.series.attach(writer)

    def begin(self, source: MonitoredEnvs) -> None:
        """Count the steps of `source`, whose episodes have just begun in slot 0."""
        self._source, self._slots = source, source.buffer.slots
        self.newest = self._counted = 0
        self._stepped = False
        self.throughput.reset(source.buffer.num_envs, self.mark())

    def step(self, slot: int) -> None:
        """Note that `slot` was stepped; its results are in the next one."""
        self.newest = next_slot(slot, self._slots)
        self._stepped = True

    @property
    def uncounted(self) -> int:
        """Number of steps that are not counted yet."""
        return self.newest - self._counted if self._slots > 1 else int(self._stepped)

    @property
    def must_count(self) -> bool:
        """Whether the steps must be counted before the next one: their slots will be overwritten, or are many."""
        return self.newest == self._slots - 1 or self.uncounted >= MAX_UNCOUNTED

    @property
    def next_decision(self) -> int:
        """The slot that the next actions are written to: a rollout's last slot is the first one of the next."""
        return 0 if self.newest == self._slots - 1 else self.newest

    def count(self) -> None:
        """Count the slots that were written since the last time."""
        if self._source is None or not self._stepped:
            return
        self._stepped = False
        span = slice(self._counted + 1, self.newest + 1) if self._slots > 1 else slice(0, 1)
        self._counted = self.next_decision
        self._on_count(span, self.counts.add(self._source.buffer, span))

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
