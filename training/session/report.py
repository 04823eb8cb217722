"""What a session says of itself at its end."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from ..telemetry.records import Level

if TYPE_CHECKING:
    from .session import Session


def make_report(session: Session) -> dict[str, Any]:
    """Return a run's figures, as `run --headless --json` prints them; times are ms per environment step."""
    monitor, seconds = session.monitor, session.clock.now()
    spent = seconds - monitor.resumed.seconds
    baseline = monitor.throughput.baseline
    steps, frames = monitor.counts.steps - monitor.resumed.steps, monitor.counts.frames - monitor.resumed.frames
    measured = {entry.num_envs: entry.fps for entry in monitor.throughput.scaling()}
    fps = measured.get(session.num_envs_now) or (frames / spent if spent > 0 else 0.0)
    speedup = fps / baseline if baseline else None
    times = {phase: 1000 * spent / max(1, steps) for phase, spent in session.timer.seconds.items()}
    accounted = sum(session.timer.seconds.values())
    return {
        **{figure.name: monitor.series.latest.get(figure.name) for figure in session.kind.figures},
        "task": session.task.spec,
        "trainer": session.kind.name,
        "backend": session.backend.name if session.backend else session.config.backend,
        "device": session.device,
        "num_envs": session.num_envs_now,
        "seconds": seconds,
        **monitor.counts.totals(),
        "fps": fps,
        "fps_per_env": fps / session.num_envs_now,
        "sps": steps / spent if spent > 0 else 0.0,
        "baseline_fps": baseline,
        "speedup": speedup,
        "efficiency": 100 * speedup / session.num_envs_now if speedup else None,
        "return_mean": None if np.isnan(monitor.counts.return_mean) else monitor.counts.return_mean,
        "outcomes": {
            outcome.name: int(count)
            for outcome, count in zip(session.task.outcomes, monitor.counts.outcomes[1:], strict=True)
        },
        "metrics": monitor.series.latest,
        "time_ms": {
            "env": times["environment"],
            "wait": times["transport"],
            "inference": times["inference"],
            "learn": times["learner"],
            "python": times["python"],
            "other": 1000 * max(0.0, spent - accounted) / max(1, steps),
        },
        "scaling": [vars(entry) for entry in monitor.throughput.scaling()],
        "workers": len(session.backend.workers) if session.backend else 0,
        "restarts": session.sizing.restarts,
        "checkpoint_pauses_ms": [1000 * pause for pause in session.keeper.pauses],
        "events": [text for _, _, level, _, text in session.events.recent if level >= Level.WARNING],
        "alarms": session.monitor.alarms.told,
        "run": str(session.keeper.folder.path) if session.keeper.folder else None,
        "version": version("pac-tui"),
    }
