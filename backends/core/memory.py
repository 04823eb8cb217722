"""Checks whether the environments fit into the available memory."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path

from ...envs import BadParameter, PacError, Task
from ...envs.apart import TooSlow, ask
from ...envs.registry import known_tasks
from ..system.cores import folders
from ..system.segment import human_bytes
from .layout import Layout

SHARE = 0.8
"""Share of the free memory that environments may use; the rest is for the trainer and other programs."""
PLENTY = 1 << 30
"""If at least this many bytes are free per environment, the memory of one is not measured."""
PATIENCE = 60.0
"""Time limit for measuring an environment, in s."""


class TooManyEnvironments(PacError):
    """More environments than the memory has room for.

    Attributes:
        reason: The memory that they need and the memory that is free.
        most: How many fit.
    """

    title = "Not enough memory"

    def __init__(self, reason: str, most: int) -> None:
        self.reason, self.most = reason, most
        advice = f"use at most {most:,}" if most else "not even one environment fits"
        super().__init__(f"{reason}: {advice}")


def available_memory() -> int:
    """Return the bytes that this process can still allocate, by the machine and by each of its control groups."""
    import psutil

    return int(min(psutil.virtual_memory().available, *(_room(folder) for folder in folders("memory")), math.inf))


def check_memory(task: Task, num_envs: int, slots: int, *, ring: bool = False) -> None:
    """Check that there is memory for `num_envs` environments and their buffer of `slots` time steps.

    Raises:
        TooManyEnvironments: There is not enough.
        BadParameter: There is not enough for a ring, which has as many rows at any N.
    """
    free = available_memory() * SHARE
    own = 0 if task.native or num_envs * PLENTY < free else footprint(task.spec)

    def need(count: int) -> int:
        return Layout(task, count, slots, ring=ring).size + count * own

    if (needed := need(num_envs)) > free:
        if ring:
            raise BadParameter(
                f"a replay of {slots:,} steps of N={num_envs:,} environments needs about {human_bytes(needed)}, "
                f"{human_bytes(free)} are available: lower replay_size"
            )
        reason = f"N={num_envs:,} needs about {human_bytes(needed)}, {human_bytes(free)} are available"
        first = need(1)  # with the tables that all share
        each = (needed - first) / max(1, num_envs - 1)
        raise TooManyEnvironments(reason, 1 + int((free - first) / each) if first <= free else 0)


def check_room(num_envs: int, needed: int, purpose: str) -> None:
    """Check that there is memory for `needed` further bytes of `num_envs` environments, if it is more than 1 GiB.

    Raises:
        TooManyEnvironments: There is not enough.
    """
    if needed > PLENTY and needed > (free := available_memory() * SHARE):
        reason = f"N={num_envs:,} needs about {human_bytes(needed)} {purpose}, {human_bytes(free)} are available"
        raise TooManyEnvironments(reason, int(num_envs * free / needed))


@cache
def footprint(spec: str) -> int:
    """Return the bytes that one environment of a task uses besides its rows of the buffer, measured in a process.

    It is 0 for an environment that cannot be made: making the backend reports why.
    """
    try:
        return int(ask("pac.envs.footprint", {"spec": spec, "tasks": known_tasks()}, limit=PATIENCE).data)
    except (TooSlow, ValueError):
        return 0


def _room(folder: Path) -> float:
    """Return the bytes left in a control group of version 1 or 2; its inactive page cache counts as free."""
    limit, usage, cache_of = (
        ("memory.max", "memory.current", "inactive_file")
        if (folder / "memory.max").exists()
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
