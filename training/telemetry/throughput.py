"""How fast a session is, and how that scales: fps over a window, and the median at every N tried.

Windows begin and end where an iteration does, so that each holds whole cycles of collecting and learning.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

from .snapshot import Scaling

WINDOW = 2.0  # s, at least
MAX_SAMPLES = 512


@dataclass(frozen=True)
class Mark:
    """Counters at the end of an iteration; `seconds` is training time, without pauses."""

    seconds: float
    frames: int
    steps: int
    phases: tuple[float, ...] = ()


class TrainingClock:
    """Seconds of training: it stands still before the first step, and while the session is paused or restarting."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._spent = 0.0
        self._since: float | None = None

    def now(self) -> float:
        """Return the seconds of training so far."""
        return self._spent if self._since is None else self._spent + self._clock() - self._since

    def count_on(self, seconds: float) -> None:
        """Continue the time of a run that is resumed, which had so many seconds."""
        self._spent += seconds

    def stop(self) -> None:
        """Stand still from now on."""
        self._spent = self.now()
        self._since = None

    def go(self) -> None:
        """Go on."""
        if self._since is None:
            self._since = self._clock()


class Throughput:
    """The marks of the running N, and the medians of all N of the session."""

    def __init__(self) -> None:
        self._marks: deque[Mark] = deque([Mark(0.0, 0, 0)])
        self._window: Mark | None = None
        self._num_envs = 0
        self._samples: dict[int, deque[tuple[float, float]]] = {}
        self._warm = False

    def begin(self, num_envs: int, mark: Mark) -> None:
        """Begin counting at another N; the first iteration is warm-up and enters no median."""
        self._marks = deque([mark])
        self._window = None
        self._num_envs = num_envs
        self._warm = False

    def break_off(self, mark: Mark) -> None:
        """Begin a new window: what came since the last mark was not undisturbed training."""
        self.begin(self._num_envs, mark)

    def add(self, mark: Mark) -> None:
        """Count an iteration that ended at `mark`."""
        if not self._warm:
            self._warm = True
            self._marks.clear()
        self._marks.append(mark)
        while len(self._marks) > 2 and mark.seconds - self._marks[1].seconds >= WINDOW:
            self._marks.popleft()
        if self._window is None:
            self._window = mark
        elif mark.seconds - self._window.seconds >= WINDOW:
            seconds = mark.seconds - self._window.seconds
            kept = self._samples.setdefault(self._num_envs, deque(maxlen=MAX_SAMPLES))
            kept.append(((mark.frames - self._window.frames) / seconds, seconds))
            self._window = mark

    def span(self, now: Mark) -> tuple[Mark, Mark]:
        """Return the ends of the window: the last marks at least 2 s apart, or else from the first mark to `now`."""
        first, last = self._marks[0], self._marks[-1]
        return (first, last) if last.seconds - first.seconds >= WINDOW else (first, now)

    def rates(self, now: Mark) -> tuple[float, float]:
        """Return frames and steps per second over the window."""
        first, last = self.span(now)
        seconds = last.seconds - first.seconds
        if seconds <= 0:
            return 0.0, 0.0
        return (last.frames - first.frames) / seconds, (last.steps - first.steps) / seconds

    def scaling(self) -> tuple[Scaling, ...]:
        """Return what was measured at every N, N rising."""
        return tuple(
            Scaling(n, median(fps), min(fps), max(fps), len(fps), sum(seconds for _, seconds in kept))
            for n, kept in sorted(self._samples.items())
            if (fps := [value for value, _ in kept])
        )

    def seconds(self, num_envs: int) -> float:
        """Return how long was measured at an N."""
        return sum(seconds for _, seconds in self._samples.get(num_envs, ()))

    @property
    def baseline(self) -> float | None:
        """Median fps at N = 1 over at least 2 s, or None."""
        return next((entry.fps for entry in self.scaling() if entry.num_envs == 1 and entry.seconds >= WINDOW), None)
