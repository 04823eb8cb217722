"""When each of several environments began and ended its last step, noted while they are stepped one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from time import monotonic_ns
from typing import Any, TypeAlias

Steps: TypeAlias = list[tuple[int, Callable[[Any], Any]]]
"""Environments by number, and what steps each."""


class EnvStamps:
    """Notes in two rows of numbers when environments begin and end a step, in ns of the monotonic clock.

    Args:
        begins: A row for each of some steps, with a number per environment, one row after the other.
        ends: The same.

    Attributes:
        first: Where the row begins that is written next.
    """

    def __init__(self, begins: Any, ends: Any) -> None:
        self._begins, self._ends = begins, ends
        self.first = 0
        self._steps: Steps = []

    def timed(self, steps: Iterable[tuple[int, Callable[[Any], Any]]]) -> Steps:
        """Return functions that step the same environments, and note when; `steps` are always the same."""
        if not self._steps:
            self._steps = [(index, self._timed(index, step)) for index, step in steps]
        return self._steps

    def _timed(self, index: int, step: Callable[[Any], Any]) -> Callable[[Any], Any]:
        begins, ends, now = self._begins, self._ends, monotonic_ns

        def timed(action: Any) -> Any:
            begun = now()
            result = step(action)
            ended, at = now(), self.first + index
            begins[at] = begun
            ends[at] = ended
            return result

        return timed
