"""How much memory there is for environments, and how many fit into it."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from functools import cache
from pathlib import Path

from ...envs import PacError, Task
from ..system.cgroups import folders
from ..system.segment import human_bytes
from .layout import Layout

SHARE = 0.8
"""Of what is free; the rest is left to the trainer and to everybody else."""
PLENTY = 1 << 30
"""Bytes per environment with which nobody needs to know what one takes."""
PATIENCE = 60.0
"""Seconds that measuring an environment may take."""


class TooManyEnvironments(PacError):
    """More environments than the memory has room for.

    Attributes:
        reason: What they would need and what is there, as the beginning of a sentence.
        most: How many would fit.
    """

    title = "Not enough memory"

    def __init__(self, reason: str, most: int) -> None:
        self.reason, self.most = reason, most
        advice = f"use at most {most:,}" if most else "not even one fits"
        super().__init__(f"{reason}: {advice}")


def available_memory() -> int:
    """Return the bytes that this process may still take: of the machine, and of every control group that it is in."""
    import psutil

    return int(min(psutil.virtual_memory().available, *(_room(folder) for folder in folders("memory")), math.inf))


def check_memory(task: Task, num_envs: int, slots: int) -> None:
    """Make sure that there is memory for `num_envs` environments and their buffer of `slots` time steps.

    Raises:
        TooManyEnvironments: There is not.
    """
    free = available_memory() * SHARE
    own = 0 if task.native or num_envs * PLENTY < free else footprint(task.spec)
    needed = Layout(task, num_envs, slots).size + num_envs * own
    if needed > free:
        tables = sum(item.row_bytes for item in task.shared if item.per == "all")
        reason = f"N={num_envs:,} would need about {human_bytes(needed)}, {human_bytes(free)} are free for them"
        raise TooManyEnvironments(reason, max(0, int(num_envs * (free - tables) / (needed - tables))))


def check_room(num_envs: int, needed: int, purpose: str) -> None:
    """Make sure that there is memory for `needed` bytes that `num_envs` environments take besides, if that is plenty.

    Raises:
        TooManyEnvironments: There is not.
    """
    if needed > PLENTY and needed > (free := available_memory() * SHARE):
        reason = f"N={num_envs:,} would need about {human_bytes(needed)} {purpose}, {human_bytes(free)} are free for it"
        raise TooManyEnvironments(reason, int(num_envs * free / needed))


@cache
def footprint(spec: str) -> int:
    """Return the bytes that one environment of a task takes besides its rows of the buffer, measured in a child.

    A native task keeps everything in the buffer. Of one that cannot be made there is nothing to say: whoever needs it
    will find out why.
    """
    told = json.dumps({"path": sys.path, "spec": spec})
    command = [sys.executable, "-P", "-m", "pac.envs.footprint"]
    try:
        done = subprocess.run(command, input=told.encode(), capture_output=True, check=True, timeout=PATIENCE)
        return int(done.stdout.split()[-1])
    except (subprocess.SubprocessError, ValueError, IndexError):
        return 0


def _room(folder: Path) -> float:
    """Return what one control group, of either version, has left, in bytes; its page cache counts as free."""
    second = (folder / "memory.max").exists()
    limit, usage, cache_of = (
        ("memory.max", "memory.current", "inactive_file")
        if second
        else ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
    )
    try:
        most = (folder / limit).read_text().strip()
        if most == "max":
            return math.inf
        used = int((folder / usage).read_text())
        statistics = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
    except (OSError, ValueError):
        return math.inf
    return max(0, int(most) - used + int(statistics.get(cache_of, 0)))
