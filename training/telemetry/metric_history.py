"""The figures of iterations as telemetry has them: the newest ones, and a history that stays within its block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from .blocks import TelemetryWriter
from .counts import TOTALS, Counts
from .segment_layout import MAX_HISTORY, MAX_METRICS

COUNTER_NAMES = frozenset({*TOTALS, "seconds"})
"""What a line of metrics has besides figures."""


class MetricHistory:
    """Names, latest values and points of the figures.

    Attributes:
        latest: The figures of the last iteration.
    """

    def __init__(self) -> None:
        self.latest: dict[str, float] = {}
        self._names: list[str] = []
        self._points = np.zeros((MAX_HISTORY, 3 + MAX_METRICS), "f4")
        self._count = 0
        self._stride = 1
        self._writer: TelemetryWriter | None = None

    def attach(self, writer: TelemetryWriter) -> None:
        """Write into `writer` from now on."""
        self._writer = writer
        self._write_latest()
        self._write_points()

    def append(self, row: Mapping[str, float], counts: Counts, seconds: float) -> None:
        """Append an iteration that ended after `seconds` of training; a full history is thinned."""
        self._take(row)
        self._write_latest()
        if counts.iterations % self._stride:
            return
        if self._count == MAX_HISTORY:
            self._thin()
        self._place(row, counts.steps, seconds, counts.frames)
        if self._writer:
            with self._writer.write("history") as history:
                history[self._count - 1] = self._points[self._count - 1]

    def resume(self, rows: Sequence[Mapping[str, float]], iterations: int) -> None:
        """Begin with the figures of a run that is resumed, some lines of its metrics, after so many iterations."""
        while iterations > self._stride * MAX_HISTORY:
            self._stride *= 2
        every = -(-len(rows) // MAX_HISTORY) or 1
        for line in rows[::-every][::-1]:
            row = {name: value for name, value in line.items() if name not in COUNTER_NAMES}
            self._take(row)
            self._place(row, line["steps"], line["seconds"], line["frames"])
        self._write_latest()
        self._write_points()

    def _take(self, row: Mapping[str, float]) -> None:
        """Let the figures of `row` be the latest."""
        self.latest = dict(row)
        self._names.extend(name for name in row if name not in self._names and len(self._names) < MAX_METRICS)

    def _place(self, row: Mapping[str, float], steps: float, seconds: float, frames: float) -> None:
        """Add a point to the history."""
        point = self._points[self._count]
        point[:3] = steps, seconds, max(1, frames)
        point[3:] = np.nan
        point[3 : 3 + len(self._names)] = [row.get(name, np.nan) for name in self._names]
        self._count += 1

    def _thin(self) -> None:
        """Let every second point go; from now on, twice as many iterations lie between two."""
        self._points[: MAX_HISTORY // 2] = self._points[::2].copy()
        self._points[MAX_HISTORY // 2 :] = 0
        self._count //= 2
        self._stride *= 2
        self._write_points()

    def _write_points(self) -> None:
        if self._writer:
            with self._writer.write("history") as history:
                history[:] = self._points

    def _write_latest(self) -> None:
        if not self._writer:
            return
        with self._writer.write("metric_names") as names:
            names[: len(self._names)] = [name.encode(errors="backslashreplace") for name in self._names]
        if self.latest:
            with self._writer.write("metrics") as values:
                values[: len(self._names)] = [self.latest.get(name, np.nan) for name in self._names]
