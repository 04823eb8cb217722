"""How many cores this process may use: its affinity and its control group's quota, not the host's count."""

from __future__ import annotations

import ctypes
import math
import os
import sys
from collections.abc import Callable
from pathlib import Path

from .cgroups import folders


def usable_cores() -> int:
    """Return the number of cores this process may use, at least 1."""
    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, math.ceil(min(affinity, _quota())))


def own_cores(workers: int) -> list[int]:
    """Return a core for each worker to keep to, where they take all cores that this process may use; else none."""
    if not sys.platform.startswith("linux"):
        return []
    cores = sorted(os.sched_getaffinity(0))
    return cores if workers == len(cores) == usable_cores() else []


def core_reader() -> Callable[[], int]:
    """Return what tells which core the calling thread runs on."""
    read: Callable[[], int] = ctypes.PyDLL(None).sched_getcpu
    return read


def default_num_envs() -> int:
    """Return the number of environments of a session that was not told: four per core, at least 8."""
    return max(8, 4 * usable_cores())


def _quota() -> float:
    """Return the smallest quota on the way from this process's control group to the root, in cores."""
    return min((_limit(folder) for folder in folders("cpu")), default=math.inf)


def _limit(folder: Path) -> float:
    """Return the quota of one control group, of either version, in cores."""
    try:
        if (folder / "cpu.max").exists():
            quota, period = (folder / "cpu.max").read_text().split()
        else:
            quota, period = ((folder / f"cpu.cfs_{name}_us").read_text().strip() for name in ("quota", "period"))
        return math.inf if quota in {"max", "-1"} else int(quota) / int(period)
    except (OSError, ValueError):
        return math.inf
