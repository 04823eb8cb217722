"""Answers what all threads, processes and workers of a session did lately, for a trace."""

from __future__ import annotations

import os
import time
from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...backends.core.spans import WorkerSteps
from ..telemetry.timeline import Lane
from .services import Services

KEPT_LAPS = 1 << 14
"""Phases of the training thread that are kept while a trace is recorded."""


class Tracing:
    """Returns parts of a trace. Whoever records asks again at least every second, from where the last part ended."""

    def __init__(self, services: Services) -> None:
        self._services, self._timing = services, services.worker_timing

    def part(self, after: float, counts: Sequence[int]) -> Mapping[str, Any]:
        """Return what was done since the last part.

        Args:
            after: The end of the last part, in s of the monotonic clock; 0 for the first one, which is empty.
            counts: How many steps of each worker were returned so far.
        """
        services, timer = self._services, self._services.timer
        self._timing.trace()
        timer.keep(KEPT_LAPS)
        begins = not after
        since = dict(enumerate(counts))
        workers = self._timing.steps(since)
        lanes, now = services.timeline.lanes(), time.monotonic()
        if begins:
            workers, lanes = [], []
        return {
            "pid": os.getpid(),
            "now": now,
            "counts": [since.get(worker, 0) for worker in range(len(since))],
            "workers": [packed_steps(one) for one in workers],
            "pids": self._timing.pids(),
            "lanes": [_packed_lane(lane, after) for lane in lanes],
            "counters": self._counters(),
            "phases": dict(timer.seconds),
        }

    def _counters(self) -> dict[str, float]:
        writer = self._services.writer
        state, system = writer.array("state"), writer.array("system")
        found = {
            "frames/s": float(state["fps"]),
            "steps/s": float(state["sps"]),
            "episodes": float(state["episodes"]),
            "memory, MiB": float(system["rss"]) / (1 << 20),
            "CPU, %": float(system["cpu"]),
        }
        return {name: value for name, value in found.items() if np.isfinite(value)}


def packed(numbers: NDArray[Any]) -> str:
    """Return numbers as text, eight bytes each."""
    return b64encode(numbers.astype("<i8").tobytes()).decode()


def packed_steps(one: WorkerSteps) -> dict[str, Any]:
    """Return the steps of a worker as JSON data; of environments only those that were timed."""
    timed = one.env_begins[:, 0] > 0
    return {
        "lo": one.lo,
        "first": one.first,
        "environments": one.env_begins.shape[1],
        "names": packed(one.names),
        "begins": packed(one.begins),
        "ends": packed(one.ends),
        "timed": packed(np.flatnonzero(timed)),
        "env_begins": packed(one.env_begins[timed]),
        "env_ends": packed(one.env_ends[timed]),
    }


def _packed_lane(lane: Lane, after: float) -> dict[str, Any]:
    laps = [lap for lap in lane.laps if lap.end > after]
    phases = list(dict.fromkeys(lap.phase for lap in laps))
    times = np.array([(lap.begin, lap.end) for lap in laps], float).reshape(-1, 2)
    return {
        "name": lane.name,
        "pid": lane.pid,
        "phases": phases,
        "phase": packed(np.array([phases.index(lap.phase) for lap in laps], np.int64)),
        "times": packed(np.rint(1e9 * times).astype(np.int64)),
    }
