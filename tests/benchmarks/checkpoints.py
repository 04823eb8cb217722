"""Measures how long checkpoints pause a training, and how much they slow it down."""

from __future__ import annotations

import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pac.training.bench.facts import Progress, Results
from pac.training.bench.measured_process import results_of

if TYPE_CHECKING:
    from pac.training.session.session import Session

TASKS = {"holdem": 2, "drmario": 16}
"""Tasks, with the number of workers or environments."""
SAMPLE = 0.02  # s between two readings of the counters
LIMIT = 300.0  # s in addition to the training time, because hold'em may build its card abstraction first


def saving_cost(*, every: float = 30.0, times: int = 4, progress: Progress) -> Results:
    """Train with periodic checkpoints.

    Args:
        every: Seconds between two checkpoints.
        times: Number of checkpoints.
        progress: Called with the current measurement.

    Returns:
        By task: `longest_pause_ms`, the longest pause of the training, and the pauses of all checkpoints;
        `lost_percent`, how much lower the rate is than between checkpoints; both rates in frames or
        iterations per second; `megabytes` of one checkpoint; `share_saving`, the share of the time.

    Raises:
        MeasurementFailed: A training failed.
    """
    results: Results = {"every": every}
    for number, (task, num_envs) in enumerate(TASKS.items()):
        progress(task, number / len(TASKS))
        seconds = every * (times + 0.5)
        results[task] = results_of(_measure, task, num_envs, every, seconds, limit=seconds + LIMIT)
    return results


def _measure(task: str, num_envs: int, every: float, seconds: float) -> Results:
    """Train in this process; read the counters, separately while a checkpoint is written."""
    from pac.backends.system.segment import own_directory
    from pac.training.config import Config
    from pac.training.session.session import Session

    with tempfile.TemporaryDirectory(prefix="pac-bench-") as folder:
        config = Config(task=task, num_envs=num_envs, checkpoint_every=every, seconds=seconds, runs_dir=Path(folder))
        return _watched(Session(config, own_directory(), headless=True), seconds, Path(folder))


def _watched(session: Session, seconds: float, folder: Path) -> Results:
    counts, checkpoints = session.counter.counts, session.checkpoints
    reports: list[dict[str, Any]] = []
    training = threading.Thread(target=lambda: reports.append(session.run()), name="training")
    training.start()
    done, spent = {False: 0, True: 0}, {False: 0.0, True: 0.0}
    before, last = 0, time.perf_counter()
    while training.is_alive() and session.clock.now() < seconds:
        time.sleep(SAMPLE)
        saving, now, count = checkpoints.saving, time.perf_counter(), counts.frames
        if before:
            done[saving] += count - before
            spent[saving] += now - last
        before, last = count, now
    training.join()
    between, overall = done[False] / spent[False], sum(done.values()) / sum(spent.values())
    pauses = reports[0]["checkpoint_pauses_ms"]
    newest = max(folder.glob("*/checkpoints/*"), key=lambda path: path.stat().st_mtime)
    return {
        "longest_pause_ms": max(pauses),
        "pauses_ms": pauses,
        "lost_percent": 100 * (1 - overall / between),
        "rate": overall,
        "rate_between": between,
        "megabytes": sum(file.stat().st_size for file in newest.rglob("*")) / 1e6,
        "share_saving": spent[True] / sum(spent.values()),
    }
