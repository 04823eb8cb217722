"""Detects NaN and infinity in rewards and observations, at a bounded cost per step."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from math import isfinite, prod

import numpy as np
from numpy.typing import NDArray

from ...envs import Task
from ...envs.slots import PerSlot
from .layout import Buffer
from .status import BackendEvent

ELEMENTS = 1024
"""Number of observation elements checked per step; larger batches are checked in turns."""
FEW = 2
"""Up to this number of rewards, Python's `sum` is faster than NumPy's `dot`."""
REPORT_INTERVAL = 10.0
"""Time between two warnings, in s."""


class NumberCheck(ABC):
    """Checks rewards and floating-point observations for NaN and infinity.

    Attributes:
        count: How often one was found.
    """

    def __init__(self, task: Task) -> None:
        self.count = 0
        self._players = task.players
        self._reported = -REPORT_INTERVAL
        self._found: tuple[str, int] | None = None

    @abstractmethod
    def check_slots(self, written: slice) -> None:
        """Check the results in some slots."""

    def events(self) -> list[BackendEvent]:
        """Return a warning if something was found since the last call, unless the last warning is too recent."""
        found, self._found = self._found, None
        if found is None or time.monotonic() - self._reported < REPORT_INTERVAL:
            return []
        self._reported = time.monotonic()
        what, env = found[0], found[1] // self._players
        text = f"environment {env + 1} returned a {what} that is NaN or infinite (found {self.count} times so far)"
        return [BackendEvent(time.time(), "warning", text, None, env, env + 1)]


class FiniteCheck(NumberCheck):
    """Checks a buffer in the memory of the host: in each slot all rewards, and a part of the observations."""

    def __init__(self, task: Task, buffer: Buffer) -> None:
        super().__init__(task)
        self._rewards = PerSlot(buffer["reward"].__getitem__)
        rows = buffer["reward"].shape[1]
        self._few = PerSlot(lambda slot: memoryview(buffer["reward"][slot])) if rows <= FEW else None
        self._floating = np.dtype(task.observation.dtype).kind == "f"
        width = max(1, prod(task.observation.shape))
        share = min(rows, max(1, ELEMENTS // width))
        starts = range(0, rows, share)  # not `self` in what is kept: a buffer goes with its backend
        self._starts, self._width = starts, width
        observations = buffer["observation"] if self._floating else buffer["observation"][:, :0]
        self._parts = PerSlot(lambda slot: [observations[slot, lo : lo + share].reshape(-1) for lo in starts])
        self._turn = 0

    def check_slots(self, written: slice) -> None:
        """Check the results in some slots."""
        for slot in range(written.start, written.stop):
            self.check(slot)

    def check(self, slot: int) -> None:
        """Check the results in `slot`."""
        total = sum(self._few[slot]) if self._few is not None else self._rewards[slot].dot(self._rewards[slot])
        if not isfinite(total):
            self._find("reward", self._rewards[slot], 0)
        if self._floating:
            self._turn = turn = (self._turn + 1) % len(self._starts)
            part = self._parts[slot][turn]
            if not isfinite(part.dot(part)):
                self._find("observation", part.reshape(-1, self._width), self._starts[turn])

    def _find(self, what: str, rows: NDArray[np.floating], lo: int) -> None:
        """Look for a number that is not finite: the sum of squares may have overflowed instead."""
        bad = ~np.isfinite(rows.reshape(len(rows), -1)).all(axis=1)
        if bad.any():
            self.count += 1
            self._found = what, lo + int(np.flatnonzero(bad)[0])
