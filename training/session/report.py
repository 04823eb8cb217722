"""What a session says of itself at its end."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from ..json_data import jsonable
from ..telemetry.throughput import Mark

if TYPE_CHECKING:
    from .session import Session

TIMES = ("env", "wait", "inference", "learn", "python")
"""What a report calls the phases of the training thread, in their order."""


def make_report(session: Session) -> dict[str, Any]:
    """Return a run's figures, as `run --headless --json` prints them, null where unknown.

    `fps`, `sps` and `time_ms` are averages over the same `measured_seconds`, the last whole iterations at this N.
    """
    monitor, backend = session.monitor, session.backend
    throughput, mark = monitor.throughput, monitor.mark()
    first, last = throughput.span(mark)
    fps, sps = throughput.rates(mark)
    num_envs, baseline = session.num_envs_now, throughput.baseline
    speedup = fps / baseline if baseline else None
    report: dict[str, Any] = jsonable(
        {
            **{figure.name: monitor.series.latest.get(figure.name) for figure in session.kind.figures},
            "task": session.task.spec,
            "trainer": session.kind.name,
            "backend": backend.name if backend else session.config.backend,
            "device": session.device,
            "num_envs": num_envs,
            "seconds": mark.seconds,
            "sweep_seconds": session.sizing.sweep_seconds(mark.seconds),
            **monitor.counts.totals(),
            "discarded_steps": session.keeper.discarded_steps,
            "fps": fps,
            "fps_per_env": fps / num_envs,
            "sps": sps,
            "measured_seconds": last.seconds - first.seconds,
            "baseline_fps": baseline,
            "speedup": speedup,
            "efficiency": 100 * speedup / num_envs if speedup else None,
            "return_mean": monitor.counts.return_mean,
            "outcomes": {
                outcome.name: int(count)
                for outcome, count in zip(session.task.outcomes, monitor.counts.outcomes[1:], strict=True)
            },
            "metrics": monitor.series.latest,
            "time_ms": _times(first, last),
            "scaling": [vars(entry) for entry in throughput.scaling()],
            "workers": len(backend.workers) if backend else 0,
            "worker_restarts": session.worker_restarts,
            "restarts": session.sizing.restarts,
            "checkpoint_pauses_ms": [1000 * pause for pause in session.keeper.pauses],
            "events": list(session.events.reported),
            "alarms": monitor.alarms.told,
            "run": str(session.keeper.folder.path) if session.keeper.folder else None,
            "version": version("pac-tui"),
        }
    )
    return report


def _times(first: Mark, last: Mark) -> dict[str, float]:
    """Return where the time between two marks went, in ms per environment step; all of it sums to 1000 / sps."""
    steps = max(1, last.steps - first.steps)
    spent = [1000 * (end - begin) / steps for begin, end in zip(first.phases, last.phases, strict=True)]
    other = 1000 * (last.seconds - first.seconds) / steps - sum(spent)
    return dict(zip(TIMES, spent, strict=True)) | {"other": max(0.0, other)}
