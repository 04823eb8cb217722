"""The metrics of iterations in the telemetry: the latest values, and curves that are thinned out when full."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from ...envs import PacError
from ...envs.unknown import UNKNOWN, unknown_in
from .blocks import TelemetryWriter
from .counts import TOTALS, Counts
from .records import METRIC_NAME_BYTES
from .segment_layout import MAX_HISTORY, MAX_METRICS

COUNTER_NAMES = frozenset({*TOTALS, "seconds"})
"""What a line of `metrics.jsonl` contains besides metrics."""


class TooManyMetrics(PacError):
    """The telemetry has no room for a metric."""

    title = "Too many metrics"


class MetricHistory:
    """Names, latest values and curves of the metrics.

    A point of the curves is a column of the block `history`: steps, seconds, frames, and a value for each name, unknown
    where an iteration has none. Readers see the newest value of each name.

    Attributes:
        latest: The metrics of the last iteration.
    """

    def __init__(self) -> None:
        self.latest: dict[str, float] = {}
        self._names: dict[str, bytes] = {}
        self._newest: dict[str, float] = {}
        self._waiting: dict[str, float] = {}  # the metrics since the last point
        self._points = np.zeros((3 + MAX_METRICS, MAX_HISTORY), "f4")
        self._count = 0
        self._stride = 1
        self._writer: TelemetryWriter | None = None

    @property
    def _used(self) -> int:
        """Rows of the points that are in use."""
        return 3 + len(self._names)

    def attach(self, writer: TelemetryWriter) -> None:
        """Write into `writer` from now on."""
        self._writer = writer
        self._write_latest()
        self._write_points()

    def add_names(self, names: Iterable[str]) -> None:
        """Add the names of metrics that are new, which earlier points lack.

        Raises:
            TooManyMetrics: There are more than `MAX_METRICS`, or a name has more than `METRIC_NAME_BYTES` bytes.
        """
        known = self._used
        for name in names:
            if name in self._names:
                continue
            encoded = name.encode(errors="backslashreplace")
            if len(encoded) > METRIC_NAME_BYTES:
                raise TooManyMetrics(f"the name of a metric has at most {METRIC_NAME_BYTES} bytes, got {name!r}")
            if len(self._names) == MAX_METRICS:
                raise TooManyMetrics(
                    f"limit of {MAX_METRICS} metrics reached, got {name!r}: report fewer, or one mean instead of "
                    "several values"
                )
            self._points[self._used, : self._count] = UNKNOWN
            self._names[name] = encoded
        if self._count and known < self._used:
            self._write_points()

    def append(self, row: Mapping[str, float], counts: Counts, seconds: float) -> None:
        """Append an iteration that ended after `seconds` of training.

        Raises:
            TooManyMetrics: There is no room for its metrics.
        """
        self._set_latest(row)
        self._write_latest()
        self._waiting |= row
        if counts.iterations % self._stride:
            return
        if self._count == MAX_HISTORY:
            self._thin()
        self._add_point(self._waiting, counts.steps, seconds, counts.frames)
        self._waiting = {}
        self._write_points(slice(self._count - 1, self._count))

    def resume(self, rows: Sequence[Mapping[str, float]], iterations: int) -> None:
        """Continue the curves of a run.

        Args:
            rows: Some lines of its metrics, oldest first.
            iterations: How many iterations it had.

        Raises:
            TooManyMetrics: There is no room for its metrics.
        """
        while iterations > self._stride * MAX_HISTORY:
            self._stride *= 2
        every = -(-len(rows) // MAX_HISTORY) or 1
        for line in rows[::-every][::-1]:
            row = {name: value for name, value in line.items() if name not in COUNTER_NAMES}
            self._set_latest(row)
            self._add_point(row, line["steps"], line["seconds"], line["frames"])
        self._write_latest()
        self._write_points()

    def _set_latest(self, row: Mapping[str, float]) -> None:
        self.add_names(row)
        self.latest = dict(row)
        self._newest |= row

    def _add_point(self, row: Mapping[str, float], steps: float, seconds: float, frames: float) -> None:
        values = (row.get(name, UNKNOWN) for name in self._names)
        self._points[: self._used, self._count] = [steps, seconds, max(1, frames), *values]
        self._count += 1

    def _thin(self) -> None:
        """Remove every second point; of the following iterations, keep half as many as before.

        A metric that only a removed point has moves to the point before it.
        """
        kept, removed = self._points[:, ::2], self._points[:, 1::2]
        self._points[:, : MAX_HISTORY // 2] = np.where(unknown_in(kept), removed, kept)
        self._points[:, MAX_HISTORY // 2 :] = 0
        self._count //= 2
        self._stride *= 2
        self._write_points()

    def _write_points(self, columns: slice = slice(None)) -> None:
        if self._writer:
            with self._writer.write("history") as history:
                history[: self._used, columns] = self._points[: self._used, columns]

    def _write_latest(self) -> None:
        if not self._writer:
            return
        count = len(self._names)
        with self._writer.write("metric_names") as names:
            names[:count] = list(self._names.values())
        if self._newest:
            with self._writer.write("metrics") as values:
                values[:count] = [self._newest.get(name, UNKNOWN) for name in self._names]
        self._writer.put("metric_count", count)  # last, because a reader reads this many of both
