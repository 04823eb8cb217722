"""The cores that this process may use, by its affinity and its control group's quota."""

from __future__ import annotations

import ctypes
import math
import os
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
"""Control groups limit a container's resources."""


def folders(controller: str) -> list[Path]:
    """Return the folders of this process's groups with a controller, of version 1 or 2, innermost first."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "" or controller in controllers.split(","):
            root = ROOT / controller if controllers else ROOT
            inner = root / path.lstrip("/")
            found += [inner, *(parent for parent in inner.parents if parent == root or root in parent.parents)]
    return found


def usable_cores() -> int:
    """Return the number of cores this process may use, at least 1."""
    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, math.ceil(min(affinity, _quota())))


def share_cores(rank: int, ranks: int) -> None:
    """Let this process, one of `ranks` on this machine, use its share of the cores, if there is one for each."""
    if not hasattr(os, "sched_setaffinity"):
        return
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) >= ranks:
        os.sched_setaffinity(0, cores[len(cores) * rank // ranks : len(cores) * (rank + 1) // ranks])


def own_cores(workers: int) -> list[int]:
    """Return a core to pin each worker to, if there are as many workers as usable cores; otherwise an empty list."""
    if not sys.platform.startswith("linux"):
        return []
    cores = sorted(os.sched_getaffinity(0))
    return cores if workers == len(cores) == usable_cores() else []


def core_reader() -> Callable[[], int]:
    """Return a function that returns the core that the calling thread runs on."""
    read: Callable[[], int] = ctypes.PyDLL(None).sched_getcpu
    return read


def default_num_envs() -> int:
    """Return the default number of environments: four per core, at least 8."""
    return max(8, 4 * usable_cores())


def _quota() -> float:
    """Return the smallest quota of this process's control group and its parents, in cores."""
    return min((_limit(folder) for folder in folders("cpu")), default=math.inf)


def _limit(folder: Path) -> float:
    """Return the quota of a control group of version 1 or 2, in cores."""
    try:
        if (folder / "cpu.max").exists():
            quota, period = (folder / "cpu.max").read_text().split()
        else:
            quota, period = ((folder / f"cpu.cfs_{name}_us").read_text().strip() for name in ("quota", "period"))
        return math.inf if quota in {"max", "-1"} else int(quota) / int(period)
    except (OSError, ValueError):
        return math.inf
