"""Training in two processes that torchrun starts, compared with one process on one core and on two.

pac-tui bench ranks --json
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile

from ...backends.system.cores import usable_cores
from ...envs import BadParameter
from .facts import Figures, Progress, ratios_of, summary_of

TASK, NUM_ENVS, RANKS = "drmario", 64, 2
SIDES = {"two_ranks": 2, "one_core": 1, "two_cores": 1}
"""The ranks of each side."""


def measure_ranks(*, seconds: float = 20.0, rounds: int = 5, progress: Progress) -> Figures:
    """Train on the bottle game with the same environments in all, one side after the other.

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
    rates: dict[str, list[float]] = {side: [] for side in SIDES}
    for number in range(rounds):
        for place, side in enumerate([*SIDES][:: 1 if number % 2 else -1]):
            progress(side.replace("_", " "), (number + place / len(SIDES)) / rounds)
            rates[side].append(_train(SIDES[side], seconds, one_core=side == "one_core"))
    return {
        "task": TASK,
        "num_envs": NUM_ENVS,
        **{side: summary_of(found) for side, found in rates.items()},
        "over_one_core": ratios_of(rates["two_ranks"], rates["one_core"]),
        "over_two_cores": ratios_of(rates["two_ranks"], rates["two_cores"]),
    }


def _train(ranks: int, seconds: float, *, one_core: bool) -> float:
    """Train in processes of their own; return the steps per second of all ranks together."""
    options = ("--task", TASK, "--num-envs", str(NUM_ENVS // ranks), "--seconds", str(seconds), "--device", "cpu")
    several = ("--ranks", str(ranks)) if ranks > 1 else ()
    command = [sys.executable, "-m", "pac.tui", "run", "--headless", "--json", "--checkpoint-every", "0"]
    before = os.sched_getaffinity(0)
    with tempfile.TemporaryDirectory(prefix="pac-bench-") as folder:
        if one_core:
            os.sched_setaffinity(0, {min(before)})
        try:
            done = subprocess.run(
                [*command, *options, *several],
                cwd=folder,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                check=True,
            )
        finally:
            os.sched_setaffinity(0, before)
    return float(json.loads(done.stdout)["sps"]) * ranks
