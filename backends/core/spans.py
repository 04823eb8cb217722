"""When workers stepped: the last steps of each worker, and of each of its environments, in a ring that others may read.

A ring is written only while somebody wants to see it. Environments are timed one by one only where their steps take
`LEAST` or longer, and at most as often as costs `SHARE` of that time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil
from time import monotonic_ns
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ...envs.stamps import EnvStamps
from ...envs.task import Environments
from ..system.futex import STRONGLY_ORDERED, fence

MOST_BYTES = 1 << 20
"""Of the rings of all workers."""
MOST_STEPS, FEWEST_STEPS = 1024, 4
LEAST = 20_000
"""The time of an environment's step from which on it is timed, in ns."""
COST, SHARE = 400, 0.008
"""What timing an environment's step costs, in ns, and the share of its time that this may be."""
WORDS = 4
"""Numbers of a step besides those of environments: its name, begin and end, and whether environments were timed."""
HEAD = 8
NUMBER = 8


class WorkerSteps(NamedTuple):
    """Steps of a worker, oldest first; times are in ns of the monotonic clock, which all processes share.

    Attributes:
        lo: The worker's first environment.
        first: How many steps the worker had timed before the first of these.
        names: A number of each step, the same for all workers.
        begins: When the worker began, `(steps,)`.
        ends: When it had done, `(steps,)`.
        env_begins: When its environments began, `(steps, environments)`; 0 where that was not measured.
        env_ends: When they ended.
    """

    lo: int
    first: int
    names: NDArray[np.int64]
    begins: NDArray[np.int64]
    ends: NDArray[np.int64]
    env_begins: NDArray[np.int64]
    env_ends: NDArray[np.int64]


def steps_kept(environments: int, workers: int) -> int:
    """Return how many steps a ring has, of so many environments of all workers."""
    room = (MOST_BYTES // NUMBER - HEAD * workers) // (WORDS * workers + 2 * environments)
    return max(FEWEST_STEPS, min(MOST_STEPS, room))


def bytes_of(spans: Sequence[tuple[int, int]]) -> int:
    """Return the bytes of the rings of workers with these environments."""
    steps = steps_kept(spans[-1][1], len(spans))
    return NUMBER * sum(_numbers(hi - lo, steps) for lo, hi in spans)


def _numbers(environments: int, steps: int) -> int:
    return HEAD + steps * (WORDS + 2 * environments)


class Ring:
    """The last steps of a worker.

    Args:
        memory: The memory of all rings, zero at first, with a place for each worker.
        spans: The first environment of each worker, and one past its last.
        index: The worker.
    """

    def __init__(self, memory: memoryview, spans: Sequence[tuple[int, int]], index: int) -> None:
        self.steps = steps_kept(spans[-1][1], len(spans))
        self.lo, hi = spans[index]
        self.environments = count = hi - self.lo
        sizes = [_numbers(end - begin, self.steps) for begin, end in spans]
        first = sum(sizes[:index])
        self._all: Any = memory[NUMBER * first : NUMBER * (first + sizes[index])].cast("q")
        self.head, parts = self._all[:HEAD], []
        at = HEAD
        for width in (1, 1, 1, 1, count, count):
            parts.append(self._all[at : at + self.steps * width])
            at += self.steps * width
        self.names, self.begins, self.ends, self.timed, self.env_begins, self.env_ends = parts

    def read(self, since: int = 0) -> WorkerSteps:
        """Return the steps from number `since` on, except those that may be overwritten meanwhile."""
        numbers = np.frombuffer(self._all, np.int64)
        count = int(numbers[0])
        fence()
        first = max(since, count - self.steps + 1, 0)
        places = np.arange(first, count) % self.steps
        columns = [np.frombuffer(part, np.int64)[places] for part in (self.names, self.begins, self.ends, self.timed)]
        shape = self.steps, self.environments
        rows = [np.frombuffer(part, np.int64).reshape(shape)[places] for part in (self.env_begins, self.env_ends)]
        fence()
        lost = max(0, int(numbers[0]) - self.steps + 1 - first)
        names, begins, ends, timed, env_begins, env_ends = (part[lost:] for part in (*columns, *rows))
        env_begins[timed == 0] = env_ends[timed == 0] = 0
        return WorkerSteps(self.lo, first + lost, names, begins, ends, env_begins, env_ends)


class TimedEnvironments(Protocol):
    """Environments that can be timed one by one."""

    def step_timed(self, slot: int, stamps: EnvStamps) -> None:
        """Step as `step` does, and note when each environment began and ended."""


class StepTimes:
    """Steps the environments of a worker and notes in its ring when.

    Args:
        environments: Its environments.
        ring: Its ring, which this process alone writes.
    """

    def __init__(self, environments: Environments, ring: Ring) -> None:
        self._step = environments.step
        self._step_timed: Callable[[int, EnvStamps], None] | None = getattr(environments, "step_timed", None)
        self._ring, self._count = ring, ring.head[0]
        self._stamps = EnvStamps(ring.env_begins, ring.env_ends)
        self._wait = 0 if self._step_timed else -1  # steps before the next one whose environments are timed; -1: never

    def step(self, slot: int, name: int) -> None:
        """Step by the actions of `slot`. The step is called `name`, a number that is the same for all workers."""
        ring, count = self._ring, self._count
        at = count % ring.steps
        timed = self._wait == 0 and self._step_timed is not None
        begun = monotonic_ns()
        if timed:
            self._stamps.first = at * ring.environments
            self._step_timed(slot, self._stamps)  # type: ignore[misc]
        else:
            self._step(slot)
        ended = monotonic_ns()
        ring.names[at], ring.begins[at], ring.ends[at], ring.timed[at] = name, begun, ended, timed
        if not STRONGLY_ORDERED:
            fence()  # whoever sees the new count must see the step
        ring.head[0] = self._count = count + 1
        if timed:
            each = (ended - begun) / ring.environments
            self._wait = ceil(COST / (SHARE * each)) - 1 if each >= LEAST else ring.steps
        elif self._wait > 0:
            self._wait -= 1
