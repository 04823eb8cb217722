"""Measures the same training at several N, each in its own process."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median

from ..config import Config
from ..session.host import SessionProcess, launch
from ..telemetry.knee import find_knee, marginal_efficiencies
from ..telemetry.snapshot import Scaling
from .facts import Progress, Results, summary_of
from .turns import alternate


def scaling(config: Config, counts: Sequence[int], *, seconds: float, repeat: int, progress: Progress) -> Results:
    """Train at each N in turn, `repeat` times. The baseline is the median fps at N = 1, which is always measured.

    Args:
        config: The configuration of the training.
        counts: The values of N.
        seconds: Training time per measurement, at least 2.
        repeat: Number of measurements of each N.
        progress: Called with the current measurement.

    Returns:
        `knee`, the N up to which adding environments pays, and `knee_sentence` with the same in words; `rows`, one per
        N with `fps` (median, min, max), `sps`, `fps_per_env`, `speedup`, and in % `efficiency` and
        `marginal_efficiency`.

    Raises:
        SessionFailed: A session failed.
    """
    wanted = sorted({1, *counts})
    sides = {
        f"N={count}": partial(measure, config.model_copy(update={"num_envs": count, "seconds": seconds}))
        for count in wanted
    }
    reports = dict(zip(wanted, alternate(sides, repeat, progress).values(), strict=True))
    progress("done", 1.0)
    samples, steps = ({n: [one[rate] for one in found] for n, found in reports.items()} for rate in ("fps", "sps"))
    baseline = median(samples[1])
    last = reports[wanted[-1]][-1]
    points = [
        Scaling(count, median(fps), min(fps), max(fps), len(fps), seconds * len(fps)) for count, fps in samples.items()
    ]
    knee, marginal = find_knee(points), marginal_efficiencies(points) or []
    return {
        **{key: last[key] for key in ("task", "trainer", "backend", "device", "workers")},
        "seconds": seconds,
        "baseline_fps": baseline,
        "knee": knee.num_envs if knee else None,
        "knee_sentence": knee.sentence if knee else None,
        "rows": [
            {**_row(count, samples[count], steps[count], baseline), "marginal_efficiency": added}
            for count, added in zip(wanted, marginal, strict=True)
        ],
    }


@contextmanager
def training(config: Config) -> Iterator[SessionProcess]:
    """Run one session to its limits, and delete its run afterwards."""
    with tempfile.TemporaryDirectory(prefix="pac-bench-") as folder:
        session = launch(config.model_copy(update={"runs_dir": Path(folder), "name": None}), headless=True)
        try:
            yield session
        finally:
            if session.poll() is None:
                session.kill()


def measure(config: Config) -> Results:
    """Run one session to its limit and return its report."""
    with training(config) as session:
        return session.report()


def _row(count: int, samples: Sequence[float], steps: Sequence[float], baseline: float) -> Results:
    fps = median(samples)
    return {
        "num_envs": count,
        "fps": summary_of(samples),
        "sps": median(steps),
        "fps_per_env": fps / count,
        "speedup": fps / baseline,
        "efficiency": 100 * fps / baseline / count,
    }
