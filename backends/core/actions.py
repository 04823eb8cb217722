"""Checks actions before any environment is stepped."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from ...envs import Task
from ...envs.fields import Array
from .errors import BadAction

ActionCheck: TypeAlias = Callable[[int], None]
"""Checks the actions of a slot; raises `BadAction` with the environment of an invalid one."""

maximum = np.maximum.reduce
FEW = 64
"""Up to this number of actions, Python's `max` is faster than NumPy's."""


def action_check(task: Task, actions: Array) -> ActionCheck:
    """Return the check of the buffer's `actions`, `(slots, rows, ...)`."""
    if task.bounds:
        return _continuous(task, actions)
    return _multi_discrete(task, actions) if task.choices else _discrete(task, actions)


def _discrete(task: Task, actions: Array) -> ActionCheck:
    """Check actions of one integer. Only the largest is compared, as unsigned, so negative ones are too large."""
    count, unsigned = task.num_actions, list(actions.view(np.uint64))
    few = [memoryview(row) for row in unsigned] if actions.shape[1] <= FEW else []

    def check(slot: int) -> None:
        if (max(few[slot]) if few else maximum(unsigned[slot])) >= count:
            given = actions[slot]
            row = int(np.flatnonzero((given < 0) | (given >= count))[0])
            raise BadAction(f"{seat_name(task, row)} got action {given[row]}; expected 0 to {count - 1}")

    return check


def _multi_discrete(task: Task, actions: Array) -> ActionCheck:
    """Check actions of several components."""
    unsigned, counts = actions.view(np.uint64), np.array(task.choices, np.uint64)

    def check(slot: int) -> None:
        bad = unsigned[slot] >= counts
        if bad.any():
            row, component = np.argwhere(bad)[0].tolist()
            raise BadAction(
                f"{seat_name(task, row)} got action {actions[slot, row].tolist()}; "
                f"expected 0 to {task.choices[component] - 1} for component {component}"
            )

    return check


def _continuous(task: Task, actions: Array) -> ActionCheck:
    """Check continuous actions for NaN and infinity, and clip them in place to their bounds."""
    low, high = np.array(task.bounds, np.float32).T

    def check(slot: int) -> None:
        given = actions[slot]
        bad = ~np.isfinite(given)
        if bad.any():
            row = int(np.argwhere(bad)[0, 0])
            raise BadAction(
                f"{seat_name(task, row)} got action {given[row].tolist()}; expected finite numbers. A policy gives "
                "others when its weights have become NaN, as with too high a learning rate"
            )
        np.clip(given, low, high, out=given)

    return check


def seat_name(task: Task, row: int) -> str:
    """Return the environment of a row, and its seat if there are several, for a message."""
    seat = f", seat {row % task.players}" if task.players > 1 else ""
    return f"environment {row // task.players}{seat}"
