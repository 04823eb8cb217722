"""Describes the machine and the software of a measurement, and summarizes repeated measurements."""

from __future__ import annotations

import platform
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any, TypeAlias

from ...backends import usable_cores
from ..machine import cpu, version_of

Results: TypeAlias = dict[str, Any]
Progress: TypeAlias = Callable[[str, float], None]
"""Called with the current measurement and the share that is done, 0 to 1."""

STEAL = 7
"""Index of stolen time in a line of /proc/stat; the values after it are contained in others."""
PACKAGES = ("pac-tui", "torch", "numba", "numpy", "gymnasium", "textual", "stable-baselines3", "sb3-contrib")


def facts() -> Results:
    """Return versions, machine, revision and time."""
    return {
        "versions": {"python": platform.python_version(), **{name: version_of(name) for name in PACKAGES}},
        "cpu": cpu(),
        "cores": usable_cores(),
        "system": platform.platform(),
        "revision": _revision(),
        "time": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
    }


def summary_of(samples: Sequence[float]) -> Results:
    """Return the median, the minimum, the maximum and the number of measurements."""
    return {
        "median": median(samples),
        "min": min(samples),
        "max": max(samples),
        "repetitions": len(samples),
    }


def ratios_of(ours: Sequence[float], others: Sequence[float]) -> Results:
    """Return the median, the minimum and the maximum of the ratios of pairs."""
    ratios = [one / other for one, other in zip(ours, others, strict=True)]
    return {"ratio": median(ratios), "ratio_min": min(ratios), "ratio_max": max(ratios)}


def core_times(cores: Sequence[int]) -> tuple[int, int] | None:
    """Return the time since boot that the hypervisor took from these cores, and their total time; None if unknown."""
    try:
        lines = [line.split() for line in Path("/proc/stat").read_text().splitlines()]
    except OSError:
        return None
    wanted = {f"cpu{core}" for core in cores}
    times = [[int(value) for value in values] for name, *values in lines if name in wanted]
    return sum(each[STEAL] for each in times), sum(sum(each[: STEAL + 1]) for each in times)


def stolen(before: tuple[int, int] | None, after: tuple[int, int] | None) -> float | None:
    """Return the share of the cores' time that the hypervisor took between two `core_times`; None if unknown."""
    if before is None or after is None or after[1] == before[1]:
        return None
    return (after[0] - before[0]) / (after[1] - before[1])


def _revision() -> str | None:
    """Return the revision of this file's checkout, with a plus if it was changed; None outside of a checkout."""
    folder = Path(__file__).parent

    def git(*arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=True)  # noqa: S607
        return done.stdout.strip()

    try:
        return git("rev-parse", "--short=12", "HEAD") + ("+" if git("status", "--porcelain", "-uno") else "")
    except (OSError, subprocess.CalledProcessError):
        return None
