"""Two ranks with half of the environments each learn like one process with all of them, in float32."""

from __future__ import annotations

import json
import math
from pathlib import Path
from statistics import fmean, variance

import pytest

from ..commands import kill_all, start, tidy

ENVS, BATCH, ITERATIONS, SEEDS, LAST = 8, 512, 20, 5, 5
"""Environments of all ranks; decisions of an iteration, which is one minibatch; the last iterations are compared."""
EXACT = ("loss/policy", "loss/value", "loss/entropy", "grad_norm", "approx_kl", "explained_variance", "value_mean")
"""Results that ranks compute together."""
ALIKE = ("loss/value", "loss/entropy", "value_mean", "rate/done")
LIMIT = 250.0

Rows = list[dict[str, float]]


def rows(ranks: int, task: str, seed: int, runtime: Path, folder: Path) -> Rows:
    """Train; return the figures of each iteration."""
    sizes = ("--num-envs", str(ENVS // ranks), "--ppo.batch", str(BATCH), "--ppo.minibatch", str(BATCH))
    options = ("--task", task, "--backend", "inline", "--device", "cpu", "--seed", str(seed), "--name", f"{ranks}")
    several = ("--ranks", str(ranks)) if ranks > 1 else ()
    steps = ("--steps", str(ITERATIONS * BATCH))
    folder.mkdir(exist_ok=True)
    process = start(("run", "--headless", *options, *sizes, *steps, *several), runtime, folder)
    try:
        _, err = process.communicate(timeout=LIMIT)
    finally:
        kill_all(runtime)
    assert process.returncode == 0, err
    lines = (folder / "runs" / str(ranks) / "metrics.jsonl").read_text().splitlines()
    return [row for row in map(json.loads, lines) if EXACT[0] in row]  # others are findings


@pytest.mark.session
@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("task", ["drmario", "CartPole-v1"])
def test_two_ranks_learn_like_one_process(task: str, tmp_path: Path) -> None:
    """The first iteration differs by rounding; the last ones of all seeds have the same mean, to 4 standard errors."""
    found: dict[int, list[Rows]] = {1: [], 2: []}
    with tidy() as runtime:
        for seed in range(SEEDS):
            for ranks, runs in found.items():
                runs.append(rows(ranks, task, seed, runtime, tmp_path / str(seed)))
    for first, second in zip(found[1], found[2], strict=True):
        assert len(first) == len(second) == ITERATIONS
        for name in EXACT:
            assert second[0][name] == pytest.approx(first[0][name], rel=1e-3, abs=1e-6), name
    for name in ALIKE:
        one, two = ([fmean(row[name] for row in run[-LAST:]) for run in found[ranks]] for ranks in (1, 2))
        error = math.sqrt((variance(one) + variance(two)) / SEEDS)
        assert abs(fmean(one) - fmean(two)) <= 4 * error, (name, one, two)
