"""Publishes a session's state and its environments for viewers, as often as viewers need and publishing may cost."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ...envs import Task
from ...envs.fields import Array
from ..telemetry.blocks import TelemetryWriter
from ..telemetry.counts import Counts
from ..telemetry.monitored import MonitoredEnvs
from ..telemetry.records import STATE, Phase, encode_clipped
from ..telemetry.tables import write_environments, write_throughput
from ..telemetry.throughput import Mark, Throughput
from .gate import Gate
from .state import SessionState, View

MAX_SHARE = 0.015
"""The largest share of the training thread's time that publishing takes: a large telemetry is written less often."""
PERIODS = {"focus": 1 / 30, "grid": 1 / 10, "nobody": 1 / 2}
"""Seconds between two publications, by what viewers display."""


@dataclass(frozen=True)
class StepPosition:
    """Where the training thread is.

    Attributes:
        slot: The slot that was written last.
        at_gate: Whether the training waits at the gate, so that nothing changes.
        next_actions: The slot with the actions of the next step; None if they are not chosen yet.
    """

    slot: int = 0
    at_gate: bool = False
    next_actions: int | None = None


class TelemetryPart(Protocol):
    """Something else that is published together with state and environments."""

    def columns(self, num_envs: int) -> Mapping[str, Array]:
        """Return columns of the table of environments, `(num_envs,)`."""

    def write(self, writer: TelemetryWriter, position: StepPosition) -> None:
        """Write blocks."""


class Publisher:
    """Writes state, rates, environments and boards into the telemetry.

    Args:
        task: What is stepped.
        state: What the session is doing.
        view: What viewers display.
        counts: What was counted.
        throughput: The rates.
        gate: Whether the training is paused.
        parts: What else is published.

    Attributes:
        due: When to publish next, by `time.perf_counter`.
    """

    def __init__(
        self,
        task: Task,
        state: SessionState,
        view: View,
        counts: Counts,
        throughput: Throughput,
        *,
        gate: Gate,
        parts: Sequence[TelemetryPart] = (),
    ) -> None:
        self.due = 0.0
        self._task, self._state, self._view = task, state, view
        self._counts, self._throughput, self._gate = counts, throughput, gate
        self._parts = parts
        self._num_envs = 0
        self._writer: TelemetryWriter | None = None
        self._source: MonitoredEnvs | None = None
        self._workers: NDArray[np.int32] = np.zeros(0, "i4")

    def attach(self, writer: TelemetryWriter, num_envs: int) -> None:
        """Publish into `writer` from now on; there are no environments until `begin`."""
        self._writer, self._num_envs, self._source = writer, num_envs, None

    def begin(self, source: MonitoredEnvs) -> None:
        """Publish the environments of `source` from now on."""
        self._source = source
        self._workers = np.full(self._num_envs, -1, "i4")
        for worker in source.workers:
            self._workers[worker.lo : worker.hi] = worker.index

    @property
    def period(self) -> float:
        """Seconds between two publications, by what viewers display."""
        if not self._view.has_viewers:
            return PERIODS["nobody"]
        return PERIODS["grid"] if self._view.look.focus is None else PERIODS["focus"]

    def publish(self, mark: Mark, *, at_gate: bool = False, actions_chosen: bool = False) -> None:
        """Write everything now.

        Args:
            mark: The counters of now.
            at_gate: Whether the training waits at the gate, so that nothing changes.
            actions_chosen: Whether the buffer contains the actions of the next step.
        """
        started = time.thread_time()
        if self._writer is not None:
            self._write_state(self._writer, mark)
            if self._source is not None:
                order = self._source.buffer.order
                position = StepPosition(order.newest, at_gate, order.acting if actions_chosen else None)
                self._write_environments(self._writer, self._source, mark, position)
        self.due = time.perf_counter() + max(self.period, (time.thread_time() - started) / MAX_SHARE)

    def _write_state(self, writer: TelemetryWriter, mark: Mark) -> None:
        fps, sps = self._throughput.rates(mark) if self._source is not None else (math.nan, math.nan)
        values = {
            **vars(self._state),
            **self._counts.totals(),
            "num_envs": self._num_envs,
            "now": time.time(),
            "training_seconds": mark.seconds,
            "fps": fps,
            "sps": sps,
            "baseline": self._throughput.baseline or math.nan,
            "credits": self._gate.credits,
            "return_mean": self._counts.return_mean,
            "length_mean": self._counts.length_mean,
        }
        if self._gate.paused and values["phase"] in {Phase.RUNNING, Phase.BASELINE}:
            values["phase"] = Phase.PAUSED
        with writer.write("state") as state:
            for name, value in values.items():
                state[name] = encode_clipped(value, STATE[name].itemsize) if isinstance(value, str) else value

    def _write_environments(
        self, writer: TelemetryWriter, source: MonitoredEnvs, mark: Mark, position: StepPosition
    ) -> None:
        write_throughput(writer, self._throughput, mark)
        columns: dict[str, Array] = {"worker": self._workers}
        for part in self._parts:
            columns |= part.columns(self._num_envs)
        write_environments(writer, self._task, source.buffer, position.slot, self._counts, **columns)
        self._write_boards(writer, source)
        for part in self._parts:
            part.write(writer, position)

    def _write_boards(self, writer: TelemetryWriter, source: MonitoredEnvs) -> None:
        """Write the boards that viewers display."""
        look, focus = self._view.look, self._view.focus(self._num_envs)
        lo, hi = look.first, min(self._num_envs, look.first + look.count)
        for item in self._task.boards:
            with writer.write(f"board:{item.name}") as boards:
                boards[lo:hi] = source.buffer[item.name][0, lo:hi]
                if focus is not None and not lo <= focus < hi:
                    boards[focus] = source.buffer[item.name][0, focus]
