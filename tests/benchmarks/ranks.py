"""Compares training in two processes that torchrun starts with one process on one core and on two.

python -m tests.benchmarks ranks --json
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from functools import partial

from pac.backends.system.cores import usable_cores
from pac.envs import BadParameter
from pac.training.bench.facts import Progress, Results, ratios_of, summary_of
from pac.training.bench.turns import alternate

TASK, NUM_ENVS, RANKS = "drmario", 32, 2
SETTINGS = {"batch": 2048, "minibatch": 512}
"""Settings per rank. A training multiplies them by the number of ranks, so that each rank does the same work."""
EPOCHS = 3
SIDES = {"two_ranks": (2, 1), "one_core": (1, 1), "two_cores": (1, 2)}
"""The ranks of each side, and how many times the environments and decisions of one core each rank has."""


def measure_ranks(*, seconds: float = 20.0, rounds: int = 5, progress: Progress) -> Results:
    """Train on `drmario` with each side in turn. Sides with two cores have twice the environments and decisions.

    Args:
        seconds: Seconds of each training.
        rounds: Number of rounds; the order of the sides changes.
        progress: Called with the current measurement.

    Returns:
        Decisions per second of all ranks of each side; `over_one_core` and `over_two_cores`, the median ratios.

    Raises:
        BadParameter: This process may use fewer than two cores.
    """
    if usable_cores() < RANKS:
        raise BadParameter(f"two ranks need two cores, and this process may use {usable_cores()}")

    def rate(side: str) -> float:
        ranks, times = SIDES[side]
        options = settings(ranks * times)
        report = train(ranks, NUM_ENVS * times, seconds, *options, cores=ranks * times)
        return float(ranks * report["sps"])

    rates = alternate({side: partial(rate, side) for side in SIDES}, rounds, progress)
    return {
        "task": TASK,
        "num_envs_per_core": NUM_ENVS,
        **{side: summary_of(found) for side, found in rates.items()},
        "over_one_core": ratios_of(rates["two_ranks"], rates["one_core"]),
        "over_two_cores": ratios_of(rates["two_ranks"], rates["two_cores"]),
    }


def settings(times: int) -> tuple[str, ...]:
    """Return options of `pac-tui run` for so many times the decisions of one rank."""
    sizes = {**{name: times * value for name, value in SETTINGS.items()}, "epochs": EPOCHS}
    return tuple(part for name, value in sizes.items() for part in (f"--ppo.{name}", str(value)))


def train(ranks: int, num_envs: int, seconds: float, *settings: str, cores: int) -> Results:
    """Train on `drmario` in one process per rank; return the report of rank 0.

    Args:
        ranks: Number of processes.
        num_envs: Environments of each.
        seconds: Seconds of the training.
        *settings: Further options of `pac-tui run`.
        cores: Number of cores that all ranks together may use.
    """
    options = ("--task", TASK, "--num-envs", str(num_envs), "--seconds", str(seconds), "--device", "cpu", *settings)
    several = ("--ranks", str(ranks)) if ranks > 1 else ()
    command = [sys.executable, "-P", "-m", "pac.tui", "run", "--headless", "--json", "--checkpoint-every", "0"]
    before = os.sched_getaffinity(0)
    with tempfile.TemporaryDirectory(prefix="pac-bench-") as folder:
        os.sched_setaffinity(0, sorted(before)[:cores])
        try:
            done = subprocess.run([*command, *options, *several], cwd=folder, capture_output=True, check=True)
        finally:
            os.sched_setaffinity(0, before)
    report: Results = json.loads(done.stdout)
    return report
