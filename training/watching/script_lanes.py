"""Lanes of a script in the timeline: when its threads, and the processes of its environments, compute."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep

from ...envs.entries import out_of_reach
from ..own_threads import OwnThread
from ..telemetry.records import MAX_LAPS
from ..telemetry.timeline import Lane
from ..trainer import Lap

PERIOD = 0.02
"""Seconds between two samples."""
CLEAR = 0.05
"""A share of a sample's time, or less than 1 by this, that counts as none or all."""
COMPUTES, WAITS = "computing", "idle"


class _Task:
    """One thread or process. The system says how much CPU time it has used."""

    def __init__(self, name: str, pid: int, thread: int) -> None:
        self.name, self.pid = name, pid
        self._file = out_of_reach(os.open(f"/proc/{pid}/task/{thread}/schedstat", os.O_RDONLY | os.O_CLOEXEC))
        self._when, self._used = monotonic(), self._read()
        self.laps: deque[Lap] = deque(maxlen=MAX_LAPS)

    def _read(self) -> float:
        return int(os.pread(self._file, 64, 0).split()[0]) / 1e9

    def sample(self) -> None:
        """Note which share of the time since the last sample it computed; where within that time is not known."""
        begin, before = self._when, self._used
        self._used, self._when = self._read(), monotonic()
        share = (self._used - before) / (self._when - begin)
        share = 0.0 if share < CLEAR else 1.0 if share > 1 - CLEAR else share
        change = begin + share * (self._when - begin)
        for phase, start, end in ((COMPUTES, begin, change), (WAITS, change, self._when)):
            if end > start:
                last = self.laps.pop() if self.laps and self.laps[-1].phase == phase else None
                self.laps.append(Lap(phase, last.begin if last else start, end))

    def close(self) -> None:
        """Close its file."""
        os.close(self._file)


class ScriptLanes:
    """Samples the script's threads and processes from a thread of its own, while somebody looks.

    Nothing is done in these: the system says how much CPU time each has used, so it needs Linux.

    Args:
        wanted: Whether somebody looks.
        stepping: Returns the native id of the thread that steps the environments, which has a lane already.
        workers: Returns the ids of processes that step an environment each.
    """

    def __init__(
        self, wanted: Callable[[], bool], stepping: Callable[[], int], workers: Callable[[], Sequence[int]]
    ) -> None:
        self._wanted, self._stepping, self._workers = wanted, stepping, workers
        self._known: dict[tuple[int, int], _Task] = {}
        # For all of these: `update` adds and removes tasks, the sampling thread adds laps and removes, others read.
        self._lock, self._running = threading.Lock(), False

    def update(self) -> None:
        """Sample from now on if somebody looks; to be called now and then."""
        if not self._wanted() or not Path("/proc/self/schedstat").exists():
            return
        with self._lock:
            self._find()
            begins, self._running = not self._running, True
        if begins:
            OwnThread(self._run, "lanes").start()

    def lanes(self) -> Iterable[Lane]:
        """Return the lanes of threads, then of processes."""
        with self._lock:
            return [Lane(one.name, one.pid, tuple(one.laps)) for one in self._known.values() if one.laps]

    def _find(self) -> None:
        pid = os.getpid()
        names = {
            (pid, thread.native_id): thread.name
            for thread in threading.enumerate()
            if thread.native_id not in {None, self._stepping()}
        }
        names |= {(worker, worker): f"process {index + 1}" for index, worker in enumerate(self._workers())}
        for gone in self._known.keys() - names:
            self._known.pop(gone).close()
        for (process, thread), name in names.items():
            if (process, thread) not in self._known:
                with suppress(OSError, ValueError, IndexError):  # it has ended, or is another user's
                    self._known[process, thread] = _Task(name, process, thread)

    def _run(self) -> None:
        while True:
            sleep(PERIOD)
            with self._lock:
                self._running = self._wanted()
                for key, one in list(self._known.items()):
                    try:
                        runs = self._running
                        one.sample()
                    except (OSError, ValueError, IndexError):
                        runs = False
                    if not runs:
                        self._known.pop(key).close()
                if not self._running:
                    return
