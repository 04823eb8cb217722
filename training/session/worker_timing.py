"""Publishes when workers and environments step, while somebody looks at it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TypeAlias

from ...backends.core.base import Backend
from ...backends.core.spans import WorkerSteps
from ..telemetry.blocks import TelemetryWriter
from ..telemetry.timeline import Timeline
from ..telemetry.worker_times import WaitCounter, spans_of, write_times
from .viewers import View

Publishing: TypeAlias = Callable[[], AbstractContextManager[TelemetryWriter]]
TRACED = 3.0
"""Seconds for which times are noted after a part of a trace was requested."""


class WorkerTiming:
    """Has the backend note when workers step, and publishes it from the sampler's thread.

    Nothing is noted while no viewer displays the timeline and no trace is recorded.
    """

    def __init__(self, publishing: Publishing, view: View, timeline: Timeline) -> None:
        self._publishing, self._view, self._timeline = publishing, view, timeline
        self._lock = threading.Lock()
        self._backend: Backend | None = None
        self._counter = WaitCounter()
        self._seen: dict[int, int] = {}
        self._traced_until = 0.0

    def watch(self, backend: Backend | None) -> None:
        """Publish the workers of `backend` from now on."""
        with self._lock:
            self._backend, self._counter = backend, WaitCounter()
            self._seen.clear()
            self._switch()

    def trace(self) -> None:
        """Note the times also without a viewer, for the next seconds."""
        with self._lock:
            self._traced_until = time.monotonic() + TRACED
            self._switch()

    def pids(self) -> list[int]:
        """Return the process of each worker."""
        with self._lock:
            return [worker.pid for worker in self._backend.workers] if self._backend is not None else []

    def steps(self, since: dict[int, int]) -> Sequence[WorkerSteps]:
        """Return the steps of each worker that are newer than those in `since`, which is updated."""
        with self._lock:
            rings = self._backend.rings if self._backend is not None else ()
            found = [ring.read(since.get(worker, 0)) for worker, ring in enumerate(rings)]
        since.update({worker: one.first + len(one.names) for worker, one in enumerate(found)})
        return found

    @property
    def wanted(self) -> bool:
        """Whether a viewer displays the timeline, or a trace is recorded."""
        return self._shown or time.monotonic() < self._traced_until

    def update(self) -> None:
        """Publish the last steps, if a viewer displays the timeline."""
        with self._lock:
            shown = self._switch()
        if not shown:
            self._counter = WaitCounter()
            return
        found = self.steps(self._seen)
        with self._publishing() as writer:
            self._timeline.write(writer)
        if any(len(one.names) for one in found):
            waits, spans = self._counter.add(found), spans_of(found)
            with self._publishing() as writer:
                write_times(writer, spans, waits, self._counter.slow())

    def _switch(self) -> bool:
        if self._backend is not None:
            self._backend.time_steps(on=self.wanted)
        return self._shown

    @property
    def _shown(self) -> bool:
        return bool(self._view.has_viewers and self._view.look.timeline)
