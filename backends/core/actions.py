"""Looks at actions before anything is stepped by them: an error of the caller's must not reach an environment."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ...envs import Task
from ...envs.fields import Array
from .errors import BadAction

maximum = np.maximum.reduce
FEW = 64
"""Up to so many actions, Python's `max` is quicker than NumPy's."""


class ActionCheck(Protocol):
    """Admits the actions of a slot, or refuses them."""

    def check(self, slot: int) -> None:
        """Make sure that the actions of a slot can be taken.

        Raises:
            BadAction: One cannot; the text names its environment.
        """


def action_check(task: Task, actions: Array) -> ActionCheck:
    """Return the guard of the buffer's `actions`, `(slots, rows, ...)`."""
    if task.bounds:
        return ContinuousActions(task, actions)
    return MultiDiscreteActions(task, actions) if task.choices else DiscreteActions(task, actions)


class DiscreteActions:
    """Actions that are a number each: a step looks at nothing but the largest one, as unsigned."""

    def __init__(self, task: Task, actions: Array) -> None:
        self._task, self._count = task, task.num_actions
        self._actions = actions
        self._unsigned = list(actions.view(np.uint64))
        self._few = [memoryview(row) for row in self._unsigned] if actions.shape[1] <= FEW else []

    def check(self, slot: int) -> None:
        """Refuse numbers out of range."""
        few = self._few
        if (max(few[slot]) if few else maximum(self._unsigned[slot])) >= self._count:
            given = self._actions[slot]
            row = int(np.flatnonzero((given < 0) | (given >= self._count))[0])
            raise BadAction(
                f"{seat_name(self._task, row)} was given action {given[row]}; actions are 0 to {self._count - 1}"
            )


class MultiDiscreteActions:
    """Actions of several choices each."""

    def __init__(self, task: Task, actions: Array) -> None:
        self._task, self._actions = task, actions
        self._unsigned = actions.view(np.uint64)
        self._counts = np.array(task.choices, np.uint64)

    def check(self, slot: int) -> None:
        """Refuse choices out of range."""
        bad = self._unsigned[slot] >= self._counts
        if bad.any():
            row, component = np.argwhere(bad)[0].tolist()
            raise BadAction(
                f"{seat_name(self._task, row)} was given action {self._actions[slot, row].tolist()}; "
                f"component {component} is 0 to {self._task.choices[component] - 1}"
            )


class ContinuousActions:
    """Continuous actions, clipped in place to their bounds."""

    def __init__(self, task: Task, actions: Array) -> None:
        self._task, self._actions = task, list(actions)
        self._low, self._high = np.array(task.bounds, np.float32).T

    def check(self, slot: int) -> None:
        """Refuse what is not a finite number, clip the rest."""
        actions = self._actions[slot]
        bad = ~np.isfinite(actions)
        if bad.any():
            row = int(np.argwhere(bad)[0, 0])
            raise BadAction(
                f"{seat_name(self._task, row)} was given action {actions[row].tolist()}; actions are finite numbers"
            )
        np.clip(actions, self._low, self._high, out=actions)


def seat_name(task: Task, row: int) -> str:
    """Return a row's environment and seat, in words."""
    seat = f", seat {row % task.players}" if task.players > 1 else ""
    return f"environment {row // task.players}{seat}"
