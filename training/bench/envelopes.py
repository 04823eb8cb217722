"""Checks that short trainings still learn as they did: their curves stay within recorded envelopes.

An envelope has a lowest and a highest value for each of some points of a training. It was recorded with several seeds,
and is wider than they were: other machines round differently, and curves diverge.

    pac-tui bench envelopes
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from ..config import Config
from ..ppo.settings import PpoSettings
from ..runs.folder import RunFolder
from ..runs.metrics import DISCARDED
from ..session.host import launch
from .facts import Figures, Progress

STEPS = {"CartPole-v1": 30_000, "drmario": 30_000, "frames": 16_000}
"""The tasks, and the environment steps of a training."""
NUM_ENVS, POINTS = 8, 4
FILE = Path(__file__).with_name("envelopes.json")
RECORDED_SEEDS, SEEDS = 5, 3
WIDER = 0.5
"""By which share of the range over seeds an envelope is wider at both ends."""
LEAST = 0.05
"""The least margin at both ends, as a share of the range of the whole envelope."""


def check_envelopes(
    *, tasks: Sequence[str] = tuple(STEPS), seeds: int = SEEDS, progress: Progress, overlap: bool = True
) -> Figures:
    """Train each task, with and without overlap, and compare the medians over seeds with the envelopes.

    Args:
        tasks: Which tasks.
        seeds: Seeds of each training.
        progress: Called with the current measurement.
        overlap: Whether to train with overlap, too.

    Returns:
        For each task and kind of training `curve`, the medians; `outside`, the points at which the median is outside of
        the envelope; and for all of them `within`, whether there are none.
    """
    envelopes = json.loads(FILE.read_text())
    kinds = _kinds(overlap=overlap)
    found: Figures = {}
    for number, task in enumerate(tasks):
        for place, (kind, settings) in enumerate(kinds.items()):
            share = (number + place / len(kinds)) / len(tasks)
            curve = _medians(_curves(task, settings, seeds, progress, share))
            outside = [
                {"steps": point["steps"], "mean": mean, "low": point["low"], "high": point["high"]}
                for mean, point in zip(curve, envelopes[task], strict=True)
                if not point["low"] <= mean <= point["high"]
            ]
            found[f"{task}, {kind}"] = {"curve": curve, "outside": outside}
    return {**found, "within": not any(result["outside"] for result in found.values())}


def _kinds(*, overlap: bool) -> dict[str, dict[str, Any]]:
    kinds: dict[str, dict[str, Any]] = {"ppo": {}}
    if overlap and "overlap" in PpoSettings.model_fields:
        kinds["ppo with overlap"] = {"overlap": True}
    return kinds


def record_envelopes(*, tasks: Sequence[str] = tuple(STEPS), progress: Progress) -> Figures:
    """Train each task with `RECORDED_SEEDS` seeds, and write the envelopes; return them."""
    envelopes = json.loads(FILE.read_text()) if FILE.exists() else {}
    for number, task in enumerate(tasks):
        curves = _curves(task, {}, RECORDED_SEEDS, progress, number / len(tasks))
        envelopes[task] = envelope_of(curves)
        FILE.write_text(json.dumps(envelopes, indent=1) + "\n")
    return {"file": str(FILE), "tasks": list(tasks)}


def envelope_of(curves: Sequence[Sequence[Figures]]) -> list[Figures]:
    """Return an envelope around the points of some trainings."""
    means = [[point["mean"] for point in points] for points in zip(*curves, strict=True)]
    whole = max(map(max, means)) - min(map(min, means))
    found = []
    for point, values in zip(curves[0], means, strict=True):
        margin = max(WIDER * (max(values) - min(values)), LEAST * whole)
        found.append({"steps": point["steps"], "low": min(values) - margin, "high": max(values) + margin})
    return found


def _curves(task: str, settings: dict[str, Any], seeds: int, progress: Progress, share: float) -> list[list[Figures]]:
    """Return the points of trainings with so many seeds."""
    found = []
    for seed in range(seeds):
        progress(f"{task}, seed {seed}", share)
        config = Config(
            task=task,
            trainer="ppo",
            num_envs=NUM_ENVS,
            backend="inline",
            device="cpu",
            seed=seed,
            steps=STEPS[task],
            checkpoint_every=0,
            settings={"threads": 1, **settings},
        )
        found.append(_points(config))
    return found


def _points(config: Config) -> list[Figures]:
    """Train in a process of its own; return the mean return of the last 100 episodes at `POINTS` times."""
    with tempfile.TemporaryDirectory(prefix="pac-bench-") as folder:
        session = launch(config.model_copy(update={"runs_dir": Path(folder)}), headless=True)
        try:
            session.report()
        finally:
            if session.poll() is None:
                session.kill()
        (run,) = RunFolder.all(Path(folder))
        rows = [row for row in run.metrics() if "return_mean" in row and DISCARDED not in row]
    assert config.steps is not None
    wanted = [config.steps * number // POINTS for number in range(1, POINTS + 1)]
    return [
        {"steps": steps, "mean": next((row for row in rows if row["steps"] >= steps), rows[-1])["return_mean"]}
        for steps in wanted
    ]


def _medians(curves: Sequence[Sequence[Figures]]) -> list[float]:
    return [median(point["mean"] for point in points) for points in zip(*curves, strict=True)]
