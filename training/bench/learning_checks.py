"""When a training is interrupted to play episodes, and the clock that stops meanwhile."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from .facts import Figures

Report: TypeAlias = Callable[[Figures], None]
EPISODES = 20
PLAYED_SEED = 1_000_000
"""Seed of the episodes that are played, which no training has."""


@dataclass(frozen=True)
class Checks:
    """When episodes are played, and when a training ends.

    Attributes:
        steps: Decisions of the training.
        every: Decisions between two checks.
        until: The mean return that ends a training; None to train for all steps.
    """

    steps: int
    every: float
    until: float | None = None

    def next(self, decisions: int) -> int:
        """Return after how many decisions episodes are played next; `decisions` itself at the end of the training."""
        if decisions >= self.steps:
            return decisions
        return min(self.steps, math.ceil((math.floor(decisions / self.every) + 1) * self.every))

    def is_over(self, mean: float) -> bool:
        """Whether the goal is reached."""
        return self.until is not None and mean >= self.until


class Clock:
    """The seconds of a training, which does not run while episodes are played."""

    def __init__(self) -> None:
        self._seconds = self._cpu_seconds = 0.0
        self._begun = (0.0, 0.0)

    def start(self) -> None:
        """Go on."""
        self._begun = time.perf_counter(), time.process_time()

    def stop(self) -> None:
        """Stop."""
        self._seconds += time.perf_counter() - self._begun[0]
        self._cpu_seconds += time.process_time() - self._begun[1]

    @property
    def figures(self) -> Figures:
        """The `seconds` so far, and the `cpu_seconds`, which depend less on other programs."""
        return {"seconds": self._seconds, "cpu_seconds": self._cpu_seconds}
