"""Checks actions before any environment is stepped."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ...envs import Task
from ...envs.fields import Array
from .errors import BadAction

maximum = np.maximum.reduce
FEW = 64
"""Up to this number of actions, Python's `max` is faster than NumPy's."""


class ActionCheck(Protocol):
    """Checks the actions of a slot."""

    def check(self, slot: int) -> None:
        """Check the actions of a slot.

        Raises:
            BadAction: One is invalid; the message names its environment.
        """


def action_check(task: Task, actions: Array) -> ActionCheck:
    """Return the check of the buffer's `actions`, `(slots, rows, ...)`."""
    if task.bounds:
        return ContinuousActions(task, actions)
    return MultiDiscreteActions(task, actions) if task.choices else DiscreteActions(task, actions)


class DiscreteActions:
    """Actions of one integer. Only the largest is compared, as unsigned, so negative ones are too large."""

    def __init__(self, task: Task, actions: Array) -> None:
        self._task, self._count = task, task.num_actions
        self._actions = actions
        self._unsigned = list(actions.view(np.uint64))
        self._few = [memoryview(row) for row in self._unsigned] if actions.shape[1] <= FEW else []

    def check(self, slot: int) -> None:
        """Raise `BadAction` for a number out of range."""
        few = self._few
        if (max(few[slot]) if few else maximum(self._unsigned[slot])) >= self._count:
            given = self._actions[slot]
            row = int(np.flatnonzero((given < 0) | (given >= self._count))[0])
            raise BadAction(f"{seat_name(self._task, row)} got action {given[row]}; expected 0 to {self._count - 1}")


class MultiDiscreteActions:
    """Actions of several components."""

    def __init__(self, task: Task, actions: Array) -> None:
        self._task, self._actions = task, actions
        self._unsigned = actions.view(np.uint64)
        self._counts = np.array(task.choices, np.uint64)

    def check(self, slot: int) -> None:
        """Raise `BadAction` for a component out of range."""
        bad = self._unsigned[slot] >= self._counts
        if bad.any():
            row, component = np.argwhere(bad)[0].tolist()
            raise BadAction(
                f"{seat_name(self._task, row)} got action {self._actions[slot, row].tolist()}; "
                f"expected 0 to {self._task.choices[component] - 1} for component {component}"
            )


class ContinuousActions:
    """Continuous actions, clipped in place to their bounds."""

    def __init__(self, task: Task, actions: Array) -> None:
        self._task, self._actions = task, list(actions)
        self._low, self._high = np.array(task.bounds, np.float32).T

    def check(self, slot: int) -> None:
        """Raise `BadAction` for NaN and infinity, clip other numbers."""
        actions = self._actions[slot]
        bad = ~np.isfinite(actions)
        if bad.any():
            row = int(np.argwhere(bad)[0, 0])
            raise BadAction(f"{seat_name(self._task, row)} got action {actions[row].tolist()}; expected finite numbers")
        np.clip(actions, self._low, self._high, out=actions)


def seat_name(task: Task, row: int) -> str:
    """Return the environment of a row, and its seat if there are several, for a message."""
    seat = f", seat {row % task.players}" if task.players > 1 else ""
    return f"environment {row // task.players}{seat}"
