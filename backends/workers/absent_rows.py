"""The rows of environments whose worker is being replaced, until it returns."""

from __future__ import annotations

from ...envs import Task
from ...envs.fields import OUT, WAITS, Array
from ..core.layout import Buffer

KEPT = ("observation", "episode_return", "episode_length")
"""Kept from the interrupted episodes, and reported when these are marked truncated."""
STILL = ("active", "reward", "terminated", "truncated", "outcome", "frames")
"""Fields that are zero while nothing is stepped."""


class AbsentRows:
    """Writes the rows of environments `lo..hi` from the interrupted step of `slot` until their worker returns.

    The interrupted step and the step of the return are not `active`, because no environment took those actions.

    Attributes:
        lo: First environment.
        hi: One past the last.
        returning: Whether they were reset in the current step.
    """

    def __init__(self, task: Task, buffer: Buffer, lo: int, hi: int, slot: int) -> None:
        self.lo, self.hi, self.returning = lo, hi, False
        self._buffer = buffer
        self._timed = [item.name for item in task.fields if item.timed]
        self._kept = {name: self._rows(name, slot).copy() for name in KEPT}
        active = self._rows("active", slot)
        active[active != OUT] = WAITS  # what a seat did before it was eliminated is still learned from

    def fill(self, slot: int) -> None:
        """Write the rows of the step of `slot`: a copy of the previous rows, or a truncation at the return."""
        target = self._buffer.order.next(slot)
        if not self.returning and target != slot:
            for name in self._timed:
                self._rows(name, target)[...] = self._rows(name, slot)
        for name in STILL:
            self._rows(name, target)[...] = 0
        if self.returning:
            self._rows("truncated", target)[...] = 1
            self._rows("final_observation", target)[...] = self._kept["observation"]
            for name in ("episode_return", "episode_length"):
                self._rows(name, target)[...] = self._kept[name]

    def _rows(self, name: str, slot: int) -> Array:
        return self._buffer.rows_of(name, slot, self.lo, self.hi)
