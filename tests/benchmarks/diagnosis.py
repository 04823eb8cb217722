"""Measures what the diagnosis costs, by the CPU time of its own code: python -m tests.benchmarks diagnosis.

The illnesses that it must name, and what its advice does, are slow tests: `tests/training/diagnosis`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from pac.training.bench.facts import Progress, Results, summary_of
from pac.training.bench.turns import alternate

BOUNDS = {"session": 0.5, "script": 1.0}
"""The largest shares of the CPU time, in %: of a session of PPO, and of a watched PPO, with eight CartPoles each."""
TRAINING = str(Path(__file__).with_name("diagnosis_costs.py"))
SHOWN = 5


def diagnosis_cost(*, seconds: float = 30.0, rounds: int = 3, progress: Progress) -> Results:
    """Train in a session and in a watched script, alternately, and add up the CPU time of the diagnosis.

    Args:
        seconds: Seconds of each training.
        rounds: Trainings of each kind.
        progress: Called with the current measurement.

    Returns:
        `percent` of the CPU time of the whole process, per kind; `bounds`; and `parts`, the share in % of the
        functions that take most.
    """
    found = alternate({kind: partial(_measured, kind, seconds) for kind in BOUNDS}, rounds, progress)
    percent = {
        kind: summary_of([100 * sum(one["spent"].values()) / one["cpu"] for one in costs])
        for kind, costs in found.items()
    }
    return {"percent": percent, "bounds": BOUNDS, "parts": {kind: _parts(costs) for kind, costs in found.items()}}


def _measured(kind: str, seconds: float) -> Any:
    watch = ["-m", "pac.tui", "watch", "--headless"] if kind == "script" else []
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PAC_WATCHED_RUNS": folder, "PAC_RUNTIME_DIR": folder}
        if kind == "session":
            environment["PYTHONPATH"] = str(Path(__file__).parents[2])
        done = subprocess.run(
            [sys.executable, *watch, TRAINING, kind, str(seconds)], check=True, capture_output=True, env=environment
        )
    return json.loads(done.stdout.splitlines()[-1])


def _parts(costs: list[Any]) -> dict[str, float]:
    """Return the functions that take most, and their shares in %."""
    shares = {name: 100 * median(one["spent"][name] / one["cpu"] for one in costs) for name in costs[0]["spent"]}
    return dict(sorted(shares.items(), key=lambda part: -part[1])[:SHOWN])
