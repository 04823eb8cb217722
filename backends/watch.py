"""Notices rewards and observations that are not finite numbers, at a bounded cost per step."""

from __future__ import annotations

import time
from math import isfinite, prod

import numpy as np
from numpy.typing import NDArray

from ..envs import Task
from .layout import Buffer
from .status import BackendEvent

ELEMENTS = 16_384
"""So many elements of the observations are looked at per step; larger batches take turns."""
QUIET = 10.0
"""Seconds between two reports."""


class NumberWatch:
    """Looks for NaN and infinity in the floating-point fields of a buffer.

    Attributes:
        count: Slots in which something was found.
    """

    def __init__(self, task: Task, buffer: Buffer) -> None:
        self.count = 0
        self._players = task.players
        self._rewards = list(buffer["reward"])
        self._few = [memoryview(row) for row in buffer["reward"]] if len(self._rewards[0]) <= 2 else []
        floating = np.dtype(task.observation.dtype).kind == "f"
        self._observations = list(buffer["observation"]) if floating else []
        rows = len(self._rewards[0])
        self._rows = min(rows, max(1, ELEMENTS // max(1, prod(task.observation.shape))))
        self._turns = -(-rows // self._rows)
        self._turn = 0
        self._reported = -QUIET
        self._found: tuple[str, int] | None = None

    def look(self, slot: int) -> bool:
        """Look at the results that stand in `slot`; return whether there is something to report."""
        if self._few:
            total = sum(self._few[slot])
        else:
            rewards = self._rewards[slot]
            total = float(rewards.dot(rewards))
        if not isfinite(total) and self._find("reward", self._rewards[slot], 0):
            return self._due()
        if not self._observations:
            return False
        lo = self._turn * self._rows
        self._turn = (self._turn + 1) % self._turns
        part = self._observations[slot][lo : lo + self._rows].ravel()
        return not isfinite(part.dot(part)) and self._find("observation", self._observations[slot], lo) and self._due()

    def events(self) -> list[BackendEvent]:
        """Return the report that is due."""
        assert self._found is not None
        what, row = self._found
        env = row // self._players
        self._reported = time.monotonic()
        text = f"environment {env} gave a {what} that is not a finite number (seen in {self.count} steps so far)"
        return [BackendEvent(time.time(), "warning", text, None, env, env + 1)]

    def _find(self, what: str, values: NDArray[np.floating], lo: int) -> bool:
        """Tell an overflow of the sum of squares from a bad number."""
        part = values[lo : lo + self._rows] if what == "observation" else values
        bad = ~np.isfinite(part.reshape(len(part), -1)).all(axis=1)
        if not bad.any():
            return False
        self.count += 1
        self._found = what, lo + int(np.flatnonzero(bad)[0])
        return True

    def _due(self) -> bool:
        return time.monotonic() - self._reported >= QUIET
