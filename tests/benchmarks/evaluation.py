"""Measures how much background evaluation slows down a training.

python -m tests.benchmarks evaluation
"""

from __future__ import annotations

from functools import partial
from statistics import median

from pac.training.bench.facts import Progress, Results, summary_of
from pac.training.bench.scaling import measure
from pac.training.bench.turns import alternate
from pac.training.config import Config

TASK, NUM_ENVS = "drmario", 16
EVERY, EPISODES = 10, 20


def evaluation_cost(*, seconds: float = 20.0, pairs: int = 5, progress: Progress) -> Results:
    """Train with and without evaluation, alternately.

    Args:
        seconds: Seconds of each training.
        pairs: Number of pairs.
        progress: Called with the current measurement.

    Returns:
        `sps` of both sides; `lost_percent`, by how much evaluation lowers the steps per second of the training, the
        median over pairs; `steps_percent`, its own steps relative to those of the training between two evaluations;
        `beyond_percent`, what was lost beyond the share of all steps that these are.
    """
    plain = Config(task=TASK, num_envs=NUM_ENVS, seconds=seconds, checkpoint_every=0)
    evaluated = plain.model_copy(update={"eval_every": EVERY, "eval_episodes": EPISODES})
    sides = {"without": partial(measure, plain), "with": partial(measure, evaluated)}
    reports = alternate(sides, pairs, progress)
    rates = {side: [report["sps"] for report in found] for side, found in reports.items()}
    steps = [
        EPISODES * report["evaluation"]["length"] * report["iterations"] / (EVERY * report["steps"])
        for report in reports["with"]
        if "evaluation" in report
    ]
    lost = [100 * (1 - after / before) for before, after in zip(rates["without"], rates["with"], strict=True)]
    own = median(steps) if steps else 0.0
    return {
        "task": TASK,
        "num_envs": NUM_ENVS,
        "every": EVERY,
        "episodes": EPISODES,
        "sps": {side: summary_of(found) for side, found in rates.items()},
        "lost_percent": median(lost),
        "steps_percent": 100 * own,
        "beyond_percent": median(lost) - 100 * own / (1 + own),
    }
