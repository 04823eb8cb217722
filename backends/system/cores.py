"""The cores that this process may use, by affinity and its control group's quota; and the machine's load and memory."""

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


IDLE = slice(3, 5)  # idle, and waiting for a disk
TIMES = slice(0, 8)  # the rest are counted in the first ones, too


class MachineLoad:
    """Measures how much of the machine is busy between two calls."""

    def __init__(self) -> None:
        self._before = _times()

    def percent(self) -> float:
        """Return the share of the cores' time that was not idle since the last call, in %."""
        (busy_before, before), self._before = self._before, _times()
        busy, total = self._before[0] - busy_before, self._before[1] - before
        return 100 * busy / total if total > 0 else 0.0


def _times() -> tuple[float, float]:
    """Return how long all cores were busy, and how long they ran, in any unit."""
    if sys.platform == "linux":
        times = [int(number) for number in Path("/proc/stat").read_text().partition("\n")[0].split()[1:]][TIMES]
        return sum(times) - sum(times[IDLE]), sum(times)
    import psutil

    found = psutil.cpu_times()
    return sum(found) - found.idle, sum(found)


def machine_memory() -> tuple[int, int]:
    """Return how much memory there is and how much of it is available, in bytes."""
    if sys.platform == "linux":
        lines = (line.split() for line in Path("/proc/meminfo").read_text().splitlines())
        sizes = {name: 1024 * int(size) for name, size, *_ in lines}
        return sizes["MemTotal:"], sizes["MemAvailable:"]
    import psutil

    found = psutil.virtual_memory()
    return found.total, found.available
