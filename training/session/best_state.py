"""Finds the best state of a training so far: by its evaluations, or without them by its most important figure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from ..playing import PREFIX
from ..runs.checkpoint import Best
from ..telemetry.counts import RECENT_EPISODES
from ..units import RETURN, Figure, first_of
from .resume_point import ResumePoint
from .training_setup import TrainingSetup

EVALUATED = Figure(f"{PREFIX}return", "Evaluation")
EVALUATION = f"{PREFIX}iteration"


class Copied(NamedTuple):
    """The state of a training at the end of an iteration, which is being evaluated.

    Attributes:
        point: Its resume point.
        tensors: What the trainer learned, copied.
        data: Other data of the trainer.
        pause: How long the training paused for the copy, in s.
    """

    point: ResumePoint
    tensors: Mapping[str, Any]
    data: Mapping[str, Any]
    pause: float


class BestState:
    """Compares states of a training. With evaluations, copies wait here until their evaluation is over.

    Attributes:
        saved: Why the best checkpoint on the disk is the best; None if there is none.
        current: The value of the state at the end of the last iteration; None if it is unknown.
        waiting: The best evaluated state, which is better than the saved one, until it is saved.
    """

    def __init__(self, setup: TrainingSetup) -> None:
        self.saved: Best | None = None
        self.current: Best | None = None
        self.waiting: tuple[Best, Copied] | None = None
        self._figures = setup.kind.figures
        self._every = setup.config.eval_every
        self._copies: dict[int, Copied] = {}

    def take(self, row: Mapping[str, float], episodes: int) -> None:
        """Take the metrics of an iteration, with the results of an evaluation that has ended."""
        if self._every is None:
            self.current = self._value(row, first_of(self._figures, row), episodes)
            return
        copied = self._copies.pop(int(row.get(EVALUATION, -1)), None)
        found = self._value(row, EVALUATED, episodes)
        if copied is not None and found is not None and self.is_better(found, self.waiting and self.waiting[0]):
            self.waiting = found, copied

    def _value(self, row: Mapping[str, float], figure: Figure, episodes: int) -> Best | None:
        value = row.get(figure.name)
        early = figure == RETURN and episodes < RECENT_EPISODES
        if value is None or not math.isfinite(value) or early or figure.better == "neither":
            return None
        return Best(figure.name, float(value), only=True)

    def is_better(self, found: Best | None, than: Best | None = None) -> bool:
        """Return whether a state is better than the saved one, and than another one.

        Only values of the same figure can be compared. Otherwise, an evaluation is better, and any value is better than
        one of a figure that the training does not have.
        """
        if found is None:
            return False
        known = {figure.name: figure for figure in (*self._figures, EVALUATED)}
        for other in (self.saved, than):
            if other is None:
                continue
            if other.metric != found.metric:
                if other.metric == EVALUATED.name:
                    return False
                continue
            better = known[found.metric].better
            if not (found.value < other.value if better == "lower" else found.value > other.value):
                return False
        return True

    def wants_copy(self, iteration: int) -> bool:
        """Return whether the evaluation of an iteration has just begun, so that its state must be kept."""
        return self._every is not None and iteration % self._every == 0

    def keep(self, iteration: int, copied: Copied, evaluating: int | None) -> None:
        """Keep the state of an iteration that is evaluated next, and of the one that is being evaluated."""
        self._copies = {number: copy for number, copy in self._copies.items() if number == evaluating}
        self._copies[iteration] = copied
