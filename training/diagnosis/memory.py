"""The memory of each process of a training over time, and how fast it grows; the sampler thread adds."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from statistics import median
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

MIB = 1 << 20
LEAST = 0.5 * MIB
"""Bytes per minute from which on growth is named."""
EACH, PARTS = 5, 4
"""Samples, one per second, of which the median is one point; and parts of the time, in each of which a leak grows."""
SHOWN, LEAST_TIME, TIME = 45, 105, 180
"""Seconds over which growth is measured at least, for people and for a leak, and at most."""
WARM_UP = 15
"""Seconds of a new process that are left out: it imports libraries, and its first steps fill caches."""
LAST = 0.9
"""By what share of its mean rate memory still grows in the last part: what fills up grows ever slower."""
JUMP = 0.6
"""The largest share of the growth that may be in one part: memory that is taken once is no leak."""
DROP = 0.25
"""The share of the growth by which memory may fall meanwhile: what comes and goes is no leak."""
APART = 3.0
"""By how many times the usual difference between others a process grows faster than they do, if it leaks."""
KEPT = 240
"""Points of a curve; there are between half as many and so many."""

Who: TypeAlias = tuple[str, int]
"""What a process is called, and its id."""


class ThinnedRows:
    """Rows of numbers over the whole time, in a limited number of points: the distance between two doubles.

    One thread adds; others copy.
    """

    def __init__(self) -> None:
        self._rows: list[tuple[float, ...]] = []
        self._stride, self._count = 1, 0

    def add(self, *row: float) -> None:
        """Add a row; not every one is kept."""
        if self._count % self._stride == 0:
            self._rows.append(row)
            if len(self._rows) >= KEPT:
                self._rows, self._stride = self._rows[::2], 2 * self._stride
        self._count += 1

    def rows(self) -> list[tuple[float, ...]]:
        """Return the rows, oldest first."""
        return self._rows.copy()


class Growth(NamedTuple):
    """How memory grows.

    Attributes:
        rate: Bytes per minute, the median of the slopes between all pairs of points (Theil and Sen).
        steady: Whether it grows in each part of a long time, does not fall, and does not grow ever slower.
    """

    rate: float
    steady: bool


class ProcessMemory:
    """The memory of one process.

    Attributes:
        name: What it is called, such as `worker 3`.
        pid: Its id.
        envs: Its first environment and one past the last; both 0 if it has none.
        peer: Whether there may be others that do the same.
        size: Its own memory now, in bytes.
        shared: What it uses besides of files, libraries and shared memory.
        curve: When in s of the monotonic clock, and its own memory.
        growth: How it grows; None while too little is known.
        old: Whether it is known for so long that its growth counts without others to compare it with.
    """

    def __init__(self, name: str, pid: int, envs: tuple[int, int], *, peer: bool) -> None:
        self.name, self.pid, self.envs, self.peer = name, pid, envs, peer
        self.size = self.shared = 0
        self.curve = ThinnedRows()
        self.growth: Growth | None = None
        self.old = False
        self._block: list[tuple[float, int]] = []
        self._points: deque[tuple[float, float]] = deque(maxlen=TIME // EACH)
        self._begun: float | None = None

    @property
    def grows(self) -> bool:
        """Whether it grows all the time; a training warms up for long, and what does the same warms up alike."""
        return self.growth is not None and self.growth.steady and (self.peer or self.old)

    @property
    def steps(self) -> str:
        """The environments that it steps, numbered from 1; empty if it steps none."""
        first, end = self.envs
        return f"environments {first + 1}-{end}" if end - first > 1 else f"environment {end}" * (end > first)

    def add(self, now: float, size: int, shared: int) -> None:
        """Add the sample of a second."""
        self.size, self.shared = size, shared
        self.curve.add(now, size)
        if self._begun is None:
            self._begun = now
        if now < self._begun + WARM_UP:
            return
        self._block.append((now, size))
        if len(self._block) == EACH:
            self._points.append((self._block[EACH // 2][0], median(bytes_ for _, bytes_ in self._block)))
            self._block = []
            points = list(self._points)
            self.growth = growth_of(points) if len(points) >= SHOWN // EACH else None
            self.old = len(points) == TIME // EACH


def growth_of(points: Sequence[tuple[float, float]]) -> Growth:
    """Return how memory grows, from points of time in s and bytes."""
    times, sizes = np.array(points, np.float64).T
    first, second = _pairs(len(times))
    slopes = (sizes[second] - sizes[first]) / (times[second] - times[first])
    slopes.sort()  # `np.median` takes several times as long
    middle = len(slopes) // 2
    slope = float(slopes[middle] + slopes[-1 - middle]) / 2
    known, count = sizes.tolist(), len(points)
    levels = [median(known[part * count // PARTS : (part + 1) * count // PARTS]) for part in range(PARTS)]
    rises = [after - before for before, after in pairwise(levels)]
    total = sum(rises)
    falls = float(np.max(np.maximum.accumulate(sizes) - sizes))
    steady = min(rises) > 0 and max(rises) <= JUMP * total and rises[-1] >= LAST * total / len(rises)
    return Growth(60 * slope, steady and falls <= DROP * total and count >= LEAST_TIME // EACH)


@cache
def _pairs(count: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    return np.triu_indices(count, 1)


def full_in(available: float, rate: float) -> str:
    """Return after how long memory is full that grows by so many bytes per minute: `40 min`, `3 h`, `12 d`."""
    if rate <= 0:
        return ""
    minutes = available / rate
    for size, unit in ((1440, "d"), (60, "h")):
        if minutes >= 2 * size:
            return f"{minutes / size:,.0f} {unit}"
    return f"{minutes:,.0f} min"


class MemoryEvidence:
    """The memory of all processes.

    Attributes:
        processes: Those that run; the sampler thread replaces them as a whole.
    """

    def __init__(self) -> None:
        self.processes: tuple[ProcessMemory, ...] = ()
        self._known: dict[Who, ProcessMemory] = {}

    def add(
        self,
        now: float,
        sizes: Mapping[Who, tuple[int, int]],
        envs: Mapping[Who, tuple[int, int]],
    ) -> None:
        """Add a second: own and shared memory of each process, and which environments each has of those that step."""
        for who, (own, shared) in sizes.items():
            process = self._known.get(who)
            if process is None:
                process = self._known[who] = ProcessMemory(*who, envs.get(who, (0, 0)), peer=who in envs)
            process.add(now, own, shared)
        if self._known.keys() != sizes.keys():
            self._known = {who: process for who, process in self._known.items() if who in sizes}
        if len(self.processes) != len(self._known) or any(
            mine is not known for mine, known in zip(self.processes, self._known.values(), strict=True)
        ):
            self.processes = tuple(self._known.values())

    @property
    def largest(self) -> ProcessMemory | None:
        """The process that grows fastest; None if none is known to grow."""
        growing = [(one.growth.rate, one) for one in self.processes if one.growth is not None and one.growth.rate > 0]
        return max(growing, key=lambda each: each[0], default=(0.0, None))[1]


class Leak(NamedTuple):
    """Processes that grow and do not stop.

    Attributes:
        processes: One that grows while others do not, or all.
        rate: Bytes per minute, of each of them.
    """

    processes: tuple[ProcessMemory, ...]
    rate: float


def leaks(processes: Sequence[ProcessMemory]) -> Iterator[Leak]:
    """Yield the processes that step environments and leak: one by one, the fastest first, and then all at once."""
    peers = [(one, one.growth) for one in processes if one.peer and one.growth is not None]
    for one, growth in sorted(peers, key=lambda each: -each[1].rate):
        others = [other.rate for process, other in peers if process is not one]
        if others and growth.steady:
            usual = median(others)
            spread = median(abs(rate - usual) for rate in others)
            excess = growth.rate - usual
            if excess > APART * spread:
                yield Leak((one,), excess)
    if peers and all(one.old and growth.steady for one, growth in peers):
        yield Leak(tuple(one for one, _ in peers), min(growth.rate for _, growth in peers))
