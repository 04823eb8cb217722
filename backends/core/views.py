"""The slots of a buffer as batches and infos of Gymnasium."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...envs import Field, Task
from ...envs.fields import Array
from .layout import Buffer


class BatchViews:
    """One buffer's slots as Gymnasium's batches.

    Args:
        buffer: The arrays.
        copy: Whether batches are copies. Otherwise unpacked fields are views that a later step overwrites.
    """

    def __init__(self, task: Task, buffer: Buffer, *, copy: bool) -> None:
        self._task = task
        self._buffer = buffer
        self._copy = copy
        self._fields = {item.name: item for item in task.fields}
        self._scalars = [item for item in task.info if not item.shape]
        self._rows = len(buffer["reward"][0])
        self._all = np.ones(self._rows, np.bool_)

    def field(self, name: str, slot: int) -> Array:
        """Return `(rows, *shape)` of a field, decoded."""
        item, array = self._fields[name], self._buffer[name]
        rows = item.decode(array[slot if item.timed else 0])
        if item.encoding == "bits":
            flags: NDArray[np.bool_] = rows.view(np.bool_)
            return flags
        return rows.copy() if self._copy and item.encoding == "raw" else rows

    def flag(self, name: str, slot: int) -> NDArray[np.bool_]:
        """Return `(rows,)` of a flag."""
        flags: NDArray[np.bool_] = self._buffer[name][slot].view(np.bool_)
        return flags.copy() if self._copy else flags

    def masks(self, slot: int) -> NDArray[np.bool_]:
        """Return which actions are legal, `(rows, num_actions)`."""
        if not self._task.masked:
            return np.ones((self._rows, self._task.num_actions), np.bool_)
        masks: NDArray[np.bool_] = self.field("action_mask", slot)
        return masks

    def infos(self, slot: int, *, ends: bool = True) -> dict[str, Any]:
        """Return Gymnasium's infos: the task's scalars, the action masks, and the final values of ended episodes."""
        infos: dict[str, Any] = {item.name: self._scalar(item, slot) for item in self._scalars}
        if self._task.masked:
            infos["action_mask"] = self.masks(slot)
        infos.update({f"_{name}": self._all for name in tuple(infos)})
        if ends:
            ended = self.flag("terminated", slot) | self.flag("truncated", slot)
            if ended.any():
                self._add_ends(infos, slot, ended)
        return infos

    def _scalar(self, item: Field, slot: int) -> Array:
        values = self.field(item.name, slot)
        return values if item.per == "seat" else np.repeat(values, self._task.players)

    def _add_ends(self, infos: dict[str, Any], slot: int, ended: NDArray[np.bool_]) -> None:
        final = self.field("final_observation", slot)
        observations = np.full(self._rows, None, dtype=object)
        for row in np.flatnonzero(ended):
            observations[row] = final[row].copy()
        names = ("episode_return", "episode_length", "outcome")
        details: dict[str, Any] = {name: np.where(ended, self._scalar(self._fields[name], slot), 0) for name in names}
        details.update({f"_{name}": ended for name in names})
        infos.update(final_obs=observations, _final_obs=ended, final_info=details, _final_info=ended)
