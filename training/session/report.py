"""What a session reports: backend and device at the start, and its figures at the end."""

from __future__ import annotations

import os
from importlib.metadata import version
from typing import Any

from ...backends.core.base import Backend
from ..json_data import jsonable
from ..loading import unused_variables
from ..telemetry.records import Level
from ..telemetry.throughput import Mark
from ..units import plural
from .checkpoint_manager import CheckpointManager
from .configured_session import ConfiguredSession
from .environments import SessionEnvs
from .run_record import RunRecord

TIMES = ("env", "wait", "inference", "learn", "python", "ranks")
"""The names of the training thread's phases in a report, in order."""


def report_setup(session: ConfiguredSession, backend: Backend) -> None:
    """Report a session's backend and device, and warnings about the task and environment variables."""
    task, units, device = session.task, session.kind.units, session.state.device
    for text in filter(None, (task.note, *unused_variables(os.environ, device))):
        session.events.add(Level.WARNING, text)
    num_envs = backend.environments
    count = f"{num_envs:,} {units.env if num_envs == 1 else plural(units.env)}"
    where = f", inference on {device}" if session.kind.computes else ""
    session.events.add(Level.INFO, f"using transport: {backend.name}, {count}{where}")


def make_report(
    session: ConfiguredSession, envs: SessionEnvs, record: RunRecord, checkpoints: CheckpointManager
) -> dict[str, Any]:
    """Return a run's figures, as `run --headless --json` prints them, null where unknown.

    `fps`, `sps` and `time_ms` are averages over the same `measured_seconds`, the last whole iterations at this N.
    """
    task, kind, counter = session.task, session.kind, session.counter
    throughput, mark = counter.throughput, counter.mark()
    first, last = throughput.span(mark)
    fps, sps = throughput.rates(mark)
    num_envs, baseline, folder = envs.num_envs, throughput.baseline, record.folder
    speedup = fps / baseline if baseline else None
    report: dict[str, Any] = jsonable(
        {
            **{figure.name: counter.series.latest.get(figure.name) for figure in kind.figures},
            "task": task.spec,
            "trainer": kind.name,
            "backend": session.state.backend or session.config.backend,
            "device": session.state.device,
            "num_envs": num_envs,
            "ranks": session.ranks.size,
            "seconds": mark.seconds,
            "sweep_seconds": session.planner.sweep_seconds(mark.seconds),
            **counter.counts.totals(),
            **({"evaluation": evaluation} if (evaluation := session.evaluator.results) else {}),
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
            "workers": len(envs.backend.workers) if envs.backend is not None else 0,
            "worker_restarts": session.failures.worker_restarts,
            "restarts": session.planner.restarts,
            "checkpoint_pauses_ms": [1000 * pause for pause in checkpoints.pauses],
            "events": list(session.events.reported),
            "alarms": list(session.debugger.alarms.messages),
            "run": str(folder.path) if folder else None,
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
