"""The rates of a session, and how they scale with N.

There is one definition of a rate. `fps`, `sps` and the times of the phases are averages over the last whole iterations
at the present N, 10 s of training or more. They leave out pauses, the first iteration at each N (a warm-up), and what
was trained at another N, for the baseline or in a sweep. While an iteration takes much longer than those before it,
they are averages over that iteration so far. The screen, the curves, `metrics.jsonl` and the report all use this
definition.

The table of scaling shows medians: of windows of at least 2 s without a speed limit, for every N that was tried.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from ...envs.unknown import UNKNOWN
from ..trainer import PHASES
from .snapshot import Scaling

SPAN = 10.0  # s of training, at least, that rates are averaged over
LATE = 1.5  # times the longest of these iterations, after which one takes much longer
WINDOW = 2.0  # s, at least, of one sample in the table of scaling
MAX_SAMPLES = 512
RATE_NAMES = ("fps", "sps")


@dataclass(frozen=True)
class Mark:
    """Counters at the end of an iteration; `seconds` is training time, without pauses."""

    seconds: float
    frames: int
    steps: int
    phases: tuple[float, ...] = (0.0,) * len(PHASES)


class TrainingClock:
    """Measures seconds of training. It is stopped before the first step and while the session is paused or restarts."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._spent = 0.0
        self._since: float | None = None

    def now(self) -> float:
        """Return the seconds of training so far."""
        return self._spent if self._since is None else self._spent + self._clock() - self._since

    @property
    def stopped(self) -> bool:
        """Whether the clock is stopped."""
        return self._since is None

    def add(self, seconds: float) -> None:
        """Add the seconds that a resumed run had before."""
        self._spent += seconds

    def stop(self) -> None:
        """Stop the clock."""
        self._spent = self.now()
        self._since = None

    def start(self) -> None:
        """Start the clock, if it is stopped."""
        if self._since is None:
            self._since = self._clock()


class Throughput:
    """The ends of the last iterations at the present N, and the medians of all N of the session.

    Attributes:
        remembered: A baseline from elsewhere, fps and s since the epoch, until the session has one of its own.
    """

    def __init__(self) -> None:
        self.remembered: tuple[float, float] | None = None
        self._samples: dict[int, deque[tuple[float, float]]] = {}
        self.reset(0, Mark(0.0, 0, 0))

    def reset(self, num_envs: int, mark: Mark) -> None:
        """Start again at another N. The first iteration is a warm-up and is in no median."""
        self._num_envs = num_envs
        self._begun = mark
        self._ends: deque[Mark] = deque()
        self._window: Mark | None = None

    def restart_window(self, mark: Mark) -> None:
        """Start a new window, since the training was disturbed in the present one."""
        self.reset(self._num_envs, mark)

    def add(self, mark: Mark, *, limited: bool = False) -> None:
        """Count an iteration that ended at `mark`. With a speed limit, it is in no median."""
        self._ends.append(mark)
        while len(self._ends) > 2 and mark.seconds - self._ends[1].seconds >= SPAN:
            self._ends.popleft()
        if self._window is None or limited:
            self._window = None if limited else mark
        elif mark.seconds - self._window.seconds >= WINDOW:
            seconds = mark.seconds - self._window.seconds
            kept = self._samples.setdefault(self._num_envs, deque(maxlen=MAX_SAMPLES))
            kept.append(((mark.frames - self._window.frames) / seconds, seconds))
            self._window = mark

    @property
    def known(self) -> bool:
        """Whether an iteration has ended after the warm-up, so that rates are those of whole iterations."""
        return len(self._ends) > 1

    def span(self, now: Mark) -> tuple[Mark, Mark]:
        """Return the two marks that rates are taken between: all there is until they are `known`.

        If an iteration takes much longer than those before it, its rates are those of its steps until now.
        """
        if not self.known:
            return self._begun, now
        first, last = self._ends[0], self._ends[-1]
        longest = max(after.seconds - before.seconds for before, after in pairwise(self._ends))
        return (last, now) if now.seconds - last.seconds > max(SPAN, LATE * longest) else (first, last)

    def rates(self, now: Mark) -> tuple[float, float]:
        """Return frames and steps per second, unknown before any time has passed."""
        first, last = self.span(now)
        seconds = last.seconds - first.seconds
        if seconds <= 0:
            return UNKNOWN, UNKNOWN
        return (last.frames - first.frames) / seconds, (last.steps - first.steps) / seconds

    def shares(self, now: Mark) -> dict[str, float]:
        """Return the share of the time that each phase takes; empty before rates are known."""
        first, last = self.span(now)
        seconds = last.seconds - first.seconds
        if not self.known or seconds <= 0:
            return {}
        return {
            phase: (end - begin) / seconds for phase, begin, end in zip(PHASES, first.phases, last.phases, strict=True)
        }

    def scaling(self) -> tuple[Scaling, ...]:
        """Return the measurements at every N, in the order of N."""
        return tuple(
            Scaling(n, median(fps), min(fps), max(fps), len(fps), sum(seconds for _, seconds in kept))
            for n, kept in sorted(self._samples.items())
            if (fps := [value for value, _ in kept])
        )

    @property
    def windows(self) -> list[float]:
        """The fps of all windows at the present N, oldest first."""
        return [fps for fps, _ in self._samples.get(self._num_envs, ())]

    def seconds(self, num_envs: int) -> float:
        """Return the measured seconds at an N."""
        return sum(seconds for _, seconds in self._samples.get(num_envs, ()))

    @property
    def measured_baseline(self) -> float | None:
        """Median fps at N = 1 over at least 2 s, or None."""
        return next((entry.fps for entry in self.scaling() if entry.num_envs == 1 and entry.seconds >= WINDOW), None)

    @property
    def baseline(self) -> float | None:
        """The measured baseline, or the remembered one, or None."""
        measured = self.measured_baseline
        return measured if measured is not None or self.remembered is None else self.remembered[0]

    @property
    def baseline_when(self) -> float:
        """When the remembered baseline was measured, s since the epoch; unknown if it is not used."""
        used = self.remembered if self.measured_baseline is None else None
        return UNKNOWN if used is None else used[1]
