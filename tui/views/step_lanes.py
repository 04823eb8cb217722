"""The lanes of the timeline of steps: what each thread, process and worker did, and at which time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...training.telemetry.snapshot import Snapshot
from ...training.telemetry.worker_times import Slow
from .lanes import EVALUATION, IDLE, LANE_NAMES, WAITS

Numbers: TypeAlias = NDArray[np.float64]
ENVIRONMENT = "environment"
SCRIPT = "script"
NONE = -1
SHOWN_STEPS = 5
"""Steps that are shown at first."""
LEAST_SPAN = 1e-6
UNKNOWN_STEP = 0.2
"""Seconds of a step of which nothing is known."""


@dataclass(frozen=True)
class StepLane:
    """What a thread, a process or a worker did.

    Attributes:
        name: What it is called.
        worker: The worker's number, from 0; -1 of another lane.
        phases: Names of phases.
        phase: The phase of each span, oldest first, as an index.
        begin: When it began, in s of the monotonic clock.
        end: When it ended.
        envs: The environments of a worker that were timed, from 0; their spans follow.
        env_begin: When their steps began, sorted.
        env_end: When these ended.
    """

    name: str
    phases: tuple[str, ...]
    phase: NDArray[np.int64]
    begin: Numbers
    end: Numbers
    worker: int = NONE
    envs: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    env_begin: Numbers = field(default_factory=lambda: np.zeros(0))
    env_end: Numbers = field(default_factory=lambda: np.zeros(0))

    def cells(self, edges: Numbers) -> list[str]:
        """Return the phase that took most of the time between each two edges; empty where it took less than half."""
        taken = np.empty((len(self.phases) + 1, len(edges) - 1))
        taken[-1] = np.diff(edges) / 2
        for number in range(len(self.phases)):
            taken[number] = np.diff(self._spent(number, edges))
        return [(*self.phases, "")[index] for index in taken.argmax(axis=0).tolist()]

    def shares(self, begin: float, end: float) -> dict[str, float]:
        """Return the share of a time that each phase took."""
        edges, whole = np.array([begin, end]), max(LEAST_SPAN, end - begin)
        found = {name: float(np.diff(self._spent(number, edges))[0]) for number, name in enumerate(self.phases)}
        return {name: spent / whole for name, spent in found.items() if spent > 0}

    def _spent(self, number: int, edges: Numbers) -> Numbers:
        """Return the seconds of a phase until each of some times."""
        mine = self.phase == number
        times = np.stack([self.begin[mine], self.end[mine]], axis=1).reshape(-1)
        lengths = np.stack([np.zeros(mine.sum()), self.end[mine] - self.begin[mine]], axis=1).reshape(-1)
        return np.interp(edges, times, np.cumsum(lengths)) if len(times) else np.zeros(len(edges))

    def at(self, when: float) -> tuple[str, float]:
        """Return the phase at a time, and how long it lasted in all; an empty text if there is none."""
        index = int(np.searchsorted(self.begin, when, "right")) - 1
        if index < 0 or self.end[index] <= when:
            return "", 0.0
        return self.phases[self.phase[index]], float(self.end[index] - self.begin[index])

    def envs_at(self, times: Numbers) -> NDArray[np.int64]:
        """Return which span of an environment covers each of some times; -1 where there is none."""
        if not len(self.envs):
            return np.full(len(times), NONE)
        index = np.searchsorted(self.env_begin, times, "right") - 1
        return np.where((index >= 0) & (self.env_end[index] > times), index, NONE)


@dataclass(frozen=True)
class Picture:
    """What was known of the last steps at one moment.

    Attributes:
        lanes: The threads and processes, then the workers.
        begin: When the oldest span of the first lane began.
        end: When the newest span ended.
        ends: When each step ended: its last worker had done; oldest first.
        last: That worker.
        late: How much later than the worker before it.
        slowest: The slowest environment of that worker, from 0; -1 if that is unknown.
        seconds: How long its step took.
        slow: Who is waited for most.
    """

    lanes: tuple[StepLane, ...]
    begin: float
    end: float
    ends: Numbers
    last: NDArray[np.int64]
    late: Numbers
    slowest: NDArray[np.int64]
    seconds: Numbers
    slow: tuple[Slow, ...]

    @property
    def step_seconds(self) -> float:
        """The usual time from one step to the next."""
        if len(self.ends) > 1:
            return float(np.median(np.diff(self.ends)))
        first = self.lanes[0] if self.lanes else None
        stepping = first.phases.index(ENVIRONMENT) if first and ENVIRONMENT in first.phases else NONE
        known = first.begin[first.phase == stepping] if first else ()
        known_at_all = float(np.median(np.diff(known))) if len(known) > 1 else UNKNOWN_STEP
        return max(LEAST_SPAN, min(known_at_all, self.end - self.begin))

    def slowest_of(self, times: Numbers) -> NDArray[np.int64]:
        """Return the slowest environment of the step that ends next after each of some times; -1 if it is unknown."""
        steps = np.searchsorted(self.ends, times)
        return np.append(self.slowest, NONE)[steps]


def picture_of(snapshot: Snapshot) -> Picture | None:
    """Return the lanes of a session; None before there are any."""
    found = snapshot.times_of_workers
    names = {"python": SCRIPT} if snapshot.description.watched else {}  # when its environments step is not known
    own = [_of_laps(lane.name, lane.laps, names) for lane in snapshot.lanes if lane.laps]
    own.sort(key=lambda lane: lane.name == EVALUATION)
    workers = [] if found is None else _of_workers(found.spans, alone=str(snapshot.state["backend"]) == "inline")
    lanes = (*own, *workers)
    if not lanes:
        return None
    busy = [lane for lane in lanes if set(lane.phases) - set(WAITS)]
    end = max(float(lane.end[-1]) for lane in busy or lanes)
    waits = np.zeros(0, [("worker", "i8"), ("end", "f8"), ("late", "f8"), ("env", "i8"), ("seconds", "f8")])
    if found is not None and len(found.waits):
        waits = np.sort(found.waits, order="end")
    return Picture(
        lanes,
        min(end, float(lanes[0].begin[0])),
        end,
        waits["end"].astype(float),
        waits["worker"].astype(np.int64),
        waits["late"].astype(float),
        waits["env"].astype(np.int64),
        waits["seconds"].astype(float),
        found.slow if found is not None else (),
    )


def _of_laps(name: str, laps: Sequence[tuple[str, float, float]], names: Mapping[str, str]) -> StepLane:
    called_so = [names.get(phase, phase) for phase, _, _ in laps]
    phases = tuple(dict.fromkeys(called_so))
    phase = np.array([phases.index(phase) for phase in called_so])
    begin, end = np.array([(begin, end) for _, begin, end in laps], float).T
    return StepLane(name, phases, phase, begin, end)


def _of_workers(spans: NDArray[np.void], *, alone: bool) -> list[StepLane]:
    """Return the lanes of workers; between two steps they wait."""
    found = []
    for number in np.unique(spans["worker"]).tolist():
        mine = np.sort(spans[spans["worker"] == number], order="begin")
        steps, envs = mine[mine["env"] < 0], mine[mine["env"] >= 0]
        begin, end = steps["begin"].astype(float), steps["end"].astype(float)
        found.append(
            StepLane(
                "environments" if alone else f"worker {number + 1}",
                (ENVIRONMENT, IDLE),
                np.arange(2 * len(steps) - 1) % 2,
                np.stack([begin, end], axis=1).reshape(-1)[:-1],
                np.stack([end, np.append(begin[1:], end[-1:])], axis=1).reshape(-1)[:-1],
                number,
                envs["env"].astype(np.int64),
                envs["begin"].astype(float),
                envs["end"].astype(float),
            )
        )
    return found


def called(phase: str) -> str:
    """Return what a phase is called."""
    return LANE_NAMES.get(phase, phase)


def letters_of(phases: Sequence[str]) -> Mapping[str, str]:
    """Return a letter for each phase, different ones as far as their names have such."""
    letters: dict[str, str] = {}
    for phase in phases:
        free = [letter for letter in phase.lower() if letter.isalpha() and letter not in letters.values()]
        letters[phase] = "-" if phase in WAITS else free[0] if free else "?"
    return letters
