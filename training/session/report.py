"""What a session reports about itself: what it runs on at the start, and its figures at the end."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from ...backends.core.base import Backend
from ...envs import Task
from ..json_data import jsonable
from ..loading import unused_variables
from ..telemetry.events import EventLog
from ..telemetry.records import Level
from ..telemetry.throughput import Mark
from ..trainers import TrainerKind
from ..units import plural
from .checkpoint_manager import CheckpointManager
from .counting import StepCounter
from .run_record import RunRecord

TIMES = ("env", "wait", "inference", "learn", "python")
"""The names of the training thread's phases in a report, in order."""


@dataclass(frozen=True)
class EnvironmentSummary:
    """The environments of a session, for its report.

    Attributes:
        backend: The name of the backend.
        device: Where the policy runs.
        num_envs: Number of environments N.
        workers: Number of workers.
        worker_restarts: How many workers failed and were started again.
        restarts: How often the environments were restarted with another N.
        sweep_seconds: Seconds of training spent on the baseline and on sweeps.
    """

    backend: str
    device: str
    num_envs: int
    workers: int
    worker_restarts: int
    restarts: int
    sweep_seconds: float


def setup_events(task: Task, kind: TrainerKind, backend: Backend, device: str) -> list[tuple[Level, str]]:
    """Return the first events of a session: what it runs on, and what a person should know about that."""
    warnings = ([task.note] if task.note else []) + list(unused_variables(os.environ, device))
    num_envs = backend.environments
    count = f"{num_envs:,} {kind.units.env if num_envs == 1 else plural(kind.units.env)}"
    where = f", inference on {device}" if kind.computes else ""
    return [
        *((Level.WARNING, text) for text in warnings),
        (Level.INFO, f"using transport: {backend.name}, {count}{where}"),
    ]


def make_report(
    task: Task,
    kind: TrainerKind,
    envs: EnvironmentSummary,
    *,
    counter: StepCounter,
    record: RunRecord,
    checkpoints: CheckpointManager,
    alarms: Sequence[str],
    events: EventLog,
) -> dict[str, Any]:
    """Return a run's figures, as `run --headless --json` prints them, null where unknown.

    `fps`, `sps` and `time_ms` are averages over the same `measured_seconds`, the last whole iterations at this N.
    """
    throughput, mark = counter.throughput, counter.mark()
    first, last = throughput.span(mark)
    fps, sps = throughput.rates(mark)
    num_envs, baseline = envs.num_envs, throughput.baseline
    speedup = fps / baseline if baseline else None
    report: dict[str, Any] = jsonable(
        {
            **{figure.name: counter.series.latest.get(figure.name) for figure in kind.figures},
            "task": task.spec,
            "trainer": kind.name,
            "backend": envs.backend,
            "device": envs.device,
            "num_envs": num_envs,
            "seconds": mark.seconds,
            "sweep_seconds": envs.sweep_seconds,
            **counter.counts.totals(),
            "discarded_steps": checkpoints.discarded_steps,
            "fps": fps,
            "fps_per_env": fps / num_envs,
            "sps": sps,
            "measured_seconds": last.seconds - first.seconds,
            "baseline_fps": baseline,
            "speedup": speedup,
            "efficiency": 100 * speedup / num_envs if speedup else None,
            "return_mean": counter.counts.return_mean,
            "outcomes": {
                outcome.name: int(count)
                for outcome, count in zip(task.outcomes, counter.counts.outcomes[1:], strict=True)
            },
            "metrics": counter.series.latest,
            "time_ms": _times(first, last),
            "scaling": [vars(entry) for entry in throughput.scaling()],
            "workers": envs.workers,
            "worker_restarts": envs.worker_restarts,
            "restarts": envs.restarts,
            "checkpoint_pauses_ms": [1000 * pause for pause in checkpoints.pauses],
            "events": list(events.reported),
            "alarms": list(alarms),
            "run": str(record.folder.path) if record.folder else None,
            "version": version("pac-tui"),
        }
    )
    return report


def _times(first: Mark, last: Mark) -> dict[str, float]:
    """Return the time of each phase between two marks, in ms per environment step; the sum is 1000 / sps."""
    steps = max(1, last.steps - first.steps)
    spent = [1000 * (end - begin) / steps for begin, end in zip(first.phases, last.phases, strict=True)]
    other = 1000 * (last.seconds - first.seconds) / steps - sum(spent)
    return dict(zip(TIMES, spent, strict=True)) | {"other": max(0.0, other)}
