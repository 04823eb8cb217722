"""Steps hands `lo..hi` of the buffers: the Python side of the compiled kernels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..errors import IllegalAction
from ..fields import Buffers, next_slot
from ..registry import find
from ..task import Task, allocate
from .families import FAMILIES
from .kernels import ALL_LEGAL, reset_envs, show_envs, step_envs
from .layout import EPISODES, PLAYERS
from .views import Table


class Hands:
    """Hands `lo..hi` of a game of this folder."""

    def __init__(self, task: Task, lo: int, hi: int, buffers: Buffers, seed: int) -> None:
        self.lo, self.hi = lo, hi
        self._task, self._buffers = task, buffers
        self._seed = int(np.uint64(seed).astype(np.int64))
        self._slots: int = buffers["action"].shape[0]
        self._table = Table(task, buffers)
        self.table = self._table.words
        buffers["episode"][0, lo:hi] = buffers["state"][0, lo:hi, EPISODES] - 1

    def reset(self, mask: NDArray[np.bool_], slot: int) -> None:
        """Begin the next hand of the masked ones, `(hi - lo,)`, and write their first observations into `slot`."""
        reset_envs(self.table, self.lo, slot, mask, self._seed)

    def step(self, slot: int) -> None:
        """Read the actions of `slot`, write everything else into the next slot, auto-reset what ended.

        Raises:
            IllegalAction: An action is out of range or masked; then nothing was stepped.
        """
        wrong = step_envs(self.table, self.lo, self.hi, slot, next_slot(slot, self._slots))
        if wrong != ALL_LEGAL:
            raise self._complaint(wrong, slot)

    def show(self, slot: int) -> None:
        """Write observations, masks, numbers and boards into `slot`, also of states restored from outside."""
        show_envs(self.table, self.lo, self.hi, slot)

    def close(self) -> None:
        """Release the buffers."""
        del self.table, self._table, self._buffers

    def _complaint(self, row: int, slot: int) -> IllegalAction:
        action, names = int(self._buffers["action"][slot, row]), self._task.action_names
        name = names[action] if 0 <= action < len(names) else f"none of {len(names)}"
        return IllegalAction(
            f"environment {row // PLAYERS}, seat {row % PLAYERS} expects an action that its action_mask allows, "
            f"got {action} ({name}); mask the policy's output before choosing"
        )


def compile_all() -> None:
    """Compile every kernel, or load it from the disk's cache, so that workers need not; they are the same for all."""
    task = find(next(iter(FAMILIES)))
    buffers = allocate(task, 1, 2)
    hands = Hands(task, 0, 1, buffers, 0)
    hands.reset(np.ones(1, np.bool_), 0)
    buffers["action"][0, 0] = np.unpackbits(buffers["action_mask"][0, 0], bitorder="little").argmax()
    hands.step(0)
    hands.show(0)
