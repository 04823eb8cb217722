"""Compares independent learners in their own processes with the same learners in one process."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from pac.envs import PacError
from pac.training.bench.facts import Progress, Results, summary_of
from pac.training.bench.scaling import training
from pac.training.bench.turns import alternate
from pac.training.config import Config
from pac.training.runs.folder import RunFolder

TASK = "treasure:agents=2"
SETTINGS: dict[str, Any] = {
    "algorithm": "iqn",
    "hidden": 250,
    "channels": 0,
    "frame_stack": 5,
    "n_step": 3,
    "batch": 64,
    "fractions": 12,
    "target_fractions": 12,
    "cosines": 64,
    "dueling": True,
    "train_frequency": 4,
    "learning_starts": 256,
    "replay_size": 20_000,
}
"""Two layers of width 250, stacks of 5, returns of 3 steps, 12 quantiles, as in Sorrel's treasure hunt."""
WAYS: dict[str, dict[str, Any]] = {
    "sequential, 1 thread": {"processes": False, "threads": 1},
    "sequential, 2 threads": {"processes": False, "threads": 2},
    "parallel": {"processes": True, "threads": 1},
}
WARM_UP = 30
"""Gradient steps of an agent before the measurement, during which processes start and kernels are loaded."""


def compare(*, seconds: float = 20.0, rounds: int = 3, progress: Progress) -> Results:
    """Train two agents in each way in turn, with the same replay ratio.

    Args:
        seconds: Training time of each measurement, without startup.
        rounds: Number of measurements of each way.
        progress: Called with the current measurement.

    Returns:
        `updates_per_second` of one agent per way (median, min, max); `ratio`, the median over the rounds of `parallel`
        over the faster sequential way.
    """
    rates = alternate({way: partial(_rate, settings, seconds) for way, settings in WAYS.items()}, rounds, progress)
    ratios = [parallel / max(one, two) for one, two, parallel in zip(*rates.values(), strict=True)]
    return {"updates_per_second": {way: summary_of(found) for way, found in rates.items()}, "ratio": median(ratios)}


def _rate(way: dict[str, Any], seconds: float) -> float:
    """Return the gradient steps of the first agent per second of a training."""
    config = Config(
        task=TASK,
        trainer="independent",
        backend="inline",
        num_envs=4,
        seconds=seconds + 10,
        settings={**SETTINGS, **way},
    )
    with training(config) as session:
        rows = RunFolder(Path(session.report()["run"])).metrics()
    kept = [row for row in rows if row["updates"] >= WARM_UP]
    if len(kept) < 2:
        raise PacError(f"{seconds} s were too short for {WARM_UP} gradient steps; measure for longer")
    return float((kept[-1]["updates"] - kept[0]["updates"]) / (kept[-1]["seconds"] - kept[0]["seconds"]))
