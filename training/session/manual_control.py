"""A person controls an environment: their action replaces the policy's, and is not learned from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...backends import BadAction
from ...envs import Task
from ...envs.fields import PLAYED, Array, Buffers


class ManualControl:
    """The action of a person that replaces the policy's at the next step.

    Attributes:
        requested: Environment, seat and action, until that step; None without a request.
        played: The environment whose last step a person made; None if the policy made it.
    """

    def __init__(self, task: Task) -> None:
        self.requested: tuple[int, int, Array] | None = None
        self.played: int | None = None
        self._task = task

    def request(self, env: int, seat: int, action: float | Sequence[float], buffer: Buffers, slot: int) -> None:
        """Request an action for the next step.

        Args:
            env: The environment, from 0.
            seat: The seat in it, from 0.
            action: One number, or one per component of an action.
            buffer: The environments' arrays.
            slot: The slot with the current action masks.

        Raises:
            BadAction: The action is not possible.
        """
        task = self._task
        num_envs = len(buffer["action"][0]) // task.players
        if not 0 <= env < num_envs:
            raise BadAction(f"environments are numbered 1 to {num_envs:,}, got {env + 1}")
        if not 0 <= seat < task.players:
            raise BadAction(f"seats are numbered 1 to {task.players}, got {seat + 1}")
        given = self._as_stored(np.asarray(action, np.float64))
        if not self._is_legal(given, buffer, slot, env * task.players + seat):
            raise BadAction(f"action {action} is not legal now; choose another")
        self.requested = env, seat, given

    def _as_stored(self, given: Array) -> Array:
        """Return an action with the dtype of the buffer, continuous ones clipped to their bounds."""
        task, item = self._task, self._task.action
        if given.shape != item.shape:
            expected = f"{item.shape[0]} numbers" if item.shape else "one number"
            raise BadAction(f"an action of this task has {expected}, got {given.size}")
        if task.bounds:
            if not np.isfinite(given).all():
                raise BadAction(f"an action must be finite, got {given.tolist()}")
            return given.astype(item.dtype).clip(*np.array(task.bounds, item.dtype).T)
        for number, count in zip(given.reshape(-1).tolist(), task.choices or (task.num_actions,), strict=True):
            if not 0 <= number < count or number % 1:
                raise BadAction(f"actions are numbered 0 to {count - 1:,}, got {number:g}")
        return given.astype(item.dtype)

    def apply(self, buffer: Buffers, slot: int) -> None:
        """Write the requested action into a slot that is about to be stepped, and exclude the decision from the loss.

        The policy's part of the episode ends here as by a truncation, so that the rewards of the person's action are
        not credited to the policy. Its last observation is the one in this slot.
        """
        requested, self.requested, self.played = self.requested, None, None
        if requested is None:
            return
        env, seat, action = requested
        row = env * self._task.players + seat
        if row >= len(buffer["action"][slot]) or not self._is_legal(action, buffer, slot, row):
            return  # it was requested while the previous step was running
        self.played = env
        buffer["action"][slot, row] = action
        buffer["active"][slot, row] = PLAYED
        if not buffer["terminated"][slot, row] and not buffer["truncated"][slot, row]:
            buffer["truncated"][slot, row] = 1

    def _is_legal(self, action: Array, buffer: Buffers, slot: int, row: int) -> bool:
        """Return whether an action is legal; of several components, whether each of them is."""
        if not self._task.masked:
            return True
        mask = np.unpackbits(buffer["action_mask"][slot, row], bitorder="little")
        first = np.cumsum((0, *self._task.choices))[: action.size]
        return bool(mask[first + action].all())
