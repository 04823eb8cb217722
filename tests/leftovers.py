"""Ends what tests have started and left running."""

import os
import sys
import time
from contextlib import suppress

import psutil

from pac.envs.apart import start_ticks

from . import warm
from .folders import kill, own, users
from .waiting import until

LIMIT = 60.0  # s


def now() -> int:
    """Return the time as `start_ticks` does."""
    if sys.platform == "linux":
        return int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK"))
    return int(time.time() * 1000)


def running() -> dict[int, psutil.Process]:
    """Return what tests started and still runs: children of this process, and users of its runtime directories."""
    found = [*psutil.Process().children(recursive=True), *users(own())]
    spared = None if warm._process is None else warm._process.pid
    return {each.pid: each for each in found if each.pid != spared and start_ticks(each.pid) is not None}


def end_since(began: int) -> None:
    """Kill what has started since a time, but not what an older process has started."""
    found = running()
    older = {pid for pid in found if (start_ticks(pid) or 0) < began}
    kill([each for pid, each in found.items() if pid not in older and not older.intersection(_parents(each))])


def _parents(process: psutil.Process) -> list[int]:
    try:
        return [each.pid for each in process.parents()]
    except psutil.Error:
        return []


def end_all() -> None:
    """Wait until nothing runs any more; kill what does not end."""
    try:
        until(lambda: not running(), f"all processes have ended: {_commands()}", LIMIT)
    finally:
        kill(list(running().values()))


def _commands() -> list[str]:
    found = []
    for pid, process in running().items():
        with suppress(psutil.Error):
            found.append(f"{pid} {' '.join(process.cmdline())}")
    return found
