"""Checks that short trainings still learn as before: their curves must stay within recorded envelopes.

An envelope has a lowest and a highest mean return for each of several points of a training. It is wider than the range
of the recorded seeds, because rounding differs between machines, and curves diverge.

    python -m tests.benchmarks envelopes
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from pac.training.bench.facts import Progress, Results
from pac.training.bench.scaling import training
from pac.training.config import Config
from pac.training.runs.folder import RunFolder
from pac.training.runs.metrics import DISCARDED

STEPS = {"CartPole-v1": 30_000, "drmario": 30_000, "frames": 16_000}
"""The tasks, and the environment steps of a training."""
KINDS: dict[str, dict[str, Any]] = {"ppo": {}, "ppo with overlap": {"overlap": True}}
"""Kinds of trainings, and their settings."""
NUM_ENVS, POINTS = 8, 4
FILE = Path(__file__).with_name("envelopes.json")
RECORDED_SEEDS, SEEDS = 5, 3
WIDER = 0.5
"""Margin at both ends, as a share of the range over seeds."""
LEAST = 0.05
"""Minimum margin at both ends, as a share of the range over all points."""


def check_envelopes(*, tasks: Sequence[str] = tuple(STEPS), seeds: int = SEEDS, progress: Progress) -> Results:
    """Train each task, with and without overlap, and compare the medians over seeds with the envelopes.

    Args:
        tasks: The tasks to train on.
        seeds: Seeds of each training.
        progress: Called with the current measurement.

    Returns:
        For each task and kind of training `curve`, the medians; `final`, the last mean of each seed; `outside`, the
        points at which the median is outside the envelope. `comparisons` by task. `within`: whether no point of any
        training is outside.
    """
    envelopes = json.loads(FILE.read_text())
    curves = _trained(tasks, seeds, progress)
    found: Results = {}
    for (task, kind), each in curves.items():
        curve = _medians(each)
        outside = [
            {"steps": point["steps"], "mean": mean, "low": point["low"], "high": point["high"]}
            for mean, point in zip(curve, envelopes[task][kind], strict=True)
            if not point["low"] <= mean <= point["high"]
        ]
        found[f"{task}, {kind}"] = {"curve": curve, "final": _final(each), "outside": outside}
    within = not any(result["outside"] for result in found.values())
    return {**found, "comparisons": _comparisons(tasks, curves), "within": within}


def record_envelopes(*, tasks: Sequence[str] = tuple(STEPS), progress: Progress) -> Results:
    """Train each task with `RECORDED_SEEDS` seeds, with and without overlap, and write the envelopes.

    Returns:
        The `file` that was written, and for each task and kind of training `final`; for each task `comparisons`.
    """
    curves = _trained(tasks, RECORDED_SEEDS, progress)
    envelopes = json.loads(FILE.read_text()) if FILE.exists() else {}
    for (task, kind), each in curves.items():
        envelopes.setdefault(task, {})[kind] = envelope_of(each)
    FILE.write_text(json.dumps(envelopes, indent=1) + "\n")
    final = {f"{task}, {kind}": _final(each) for (task, kind), each in curves.items()}
    return {"file": str(FILE), "final": final, "comparisons": _comparisons(tasks, curves)}


def _trained(tasks: Sequence[str], seeds: int, progress: Progress) -> dict[tuple[str, str], list[list[Results]]]:
    """Train each task in each of the `KINDS`; return the points of all seeds."""
    found: dict[tuple[str, str], list[list[Results]]] = {}
    trainings = [(task, kind) for task in tasks for kind in KINDS]
    for number, (task, kind) in enumerate(trainings):
        found[task, kind] = []
        for seed in range(seeds):
            progress(f"{task}, seed {seed}", number / len(trainings))
            found[task, kind].append(_points(task, KINDS[kind], seed))
    return found


def _final(curves: Sequence[Sequence[Results]]) -> list[float]:
    return [points[-1]["mean"] for points in curves]


def _comparisons(tasks: Sequence[str], curves: Mapping[tuple[str, str], Sequence[Sequence[Results]]]) -> Results:
    return {task: comparison_of(*(_final(curves[task, kind]) for kind in KINDS)) for task in tasks}


def comparison_of(plain: Sequence[float], overlap: Sequence[float]) -> Results:
    """Compare the final mean returns without and with overlap.

    Returns:
        `difference` of the medians; `seed_range`, the larger range over seeds; `equal`, whether the difference is less
        than that range.
    """
    difference = abs(median(overlap) - median(plain))
    seed_range = max(max(values) - min(values) for values in (plain, overlap))
    return {"difference": difference, "seed_range": seed_range, "equal": difference < seed_range}


def envelope_of(curves: Sequence[Sequence[Results]]) -> list[Results]:
    """Return an envelope around the points of several trainings."""
    means = [[point["mean"] for point in points] for points in zip(*curves, strict=True)]
    whole = max(map(max, means)) - min(map(min, means))
    found = []
    for point, values in zip(curves[0], means, strict=True):
        margin = max(WIDER * (max(values) - min(values)), LEAST * whole)
        found.append({"steps": point["steps"], "low": min(values) - margin, "high": max(values) + margin})
    return found


def _points(task: str, settings: Mapping[str, Any], seed: int) -> list[Results]:
    """Train in a process of its own; return the mean return of the last 100 episodes at `POINTS` times."""
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
    with training(config) as session:
        run = RunFolder(Path(session.report()["run"]))
        rows = [row for row in run.metrics() if "return_mean" in row and DISCARDED not in row]
    wanted = [STEPS[task] * number // POINTS for number in range(1, POINTS + 1)]
    return [
        {"steps": steps, "mean": next((row for row in rows if row["steps"] >= steps), rows[-1])["return_mean"]}
        for steps in wanted
    ]


def _medians(curves: Sequence[Sequence[Results]]) -> list[float]:
    return [median(point["mean"] for point in points) for points in zip(*curves, strict=True)]
