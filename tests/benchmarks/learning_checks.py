"""Interrupts a training to measure its policy, with a clock that stops meanwhile."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from pac.training.bench.facts import Results

Report: TypeAlias = Callable[[Results], None]
EPISODES = 20
PLAYED_SEED = 1_000_000
"""Seed of the episodes that are played, which no training has."""


@dataclass(frozen=True)
class Checks:
    """When the policy is measured, and when a training ends.

    Attributes:
        steps: Decisions of the training.
        every: Decisions between two checks.
        until: The mean return that ends a training; None to train for all steps.
    """

    steps: int
    every: float
    until: float | None = None

    def next(self, decisions: int) -> int:
        """Return after how many decisions the policy is measured next, or `decisions` at the end of the training."""
        if decisions >= self.steps:
            return decisions
        return min(self.steps, math.ceil((math.floor(decisions / self.every) + 1) * self.every))


class LearningCurve:
    """Measures the policy of a training at the times of `checks`. Its clock stops meanwhile.

    Args:
        checks: When to measure, and when the training ends.
        play: Plays `EPISODES` episodes with the current policy, and returns their mean return.
        report: Called with each point: `decisions`, `seconds` of training, `cpu_seconds`, which depend less on other
            programs, and the `mean` return.

    Attributes:
        over: Whether the training has made all its steps, or has reached the goal.
    """

    def __init__(self, checks: Checks, play: Callable[[], float], report: Report) -> None:
        self._checks, self._play, self._report = checks, play, report
        self._check, self.over = checks.next(0), False
        self._seconds = self._cpu_seconds = 0.0
        self._start_clock()

    def _start_clock(self) -> None:
        self._begun = time.perf_counter(), time.process_time()

    def add(self, decisions: int) -> None:
        """Measure the policy if it is time after so many decisions."""
        if self.over or decisions < self._check:
            return
        self._seconds += time.perf_counter() - self._begun[0]
        self._cpu_seconds += time.process_time() - self._begun[1]
        mean = self._play()
        self._report({"decisions": decisions, "seconds": self._seconds, "cpu_seconds": self._cpu_seconds, "mean": mean})
        self._check = self._checks.next(decisions)
        reached = self._checks.until is not None and mean >= self._checks.until
        self.over = reached or decisions >= self._check
        self._start_clock()
