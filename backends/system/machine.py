"""The load and the memory of the machine. On Linux no library is needed for them."""

from __future__ import annotations

import sys
from pathlib import Path

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
