"""Steps environments `lo..hi` of the buffers: the Python side of the compiled kernels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..errors import IllegalAction
from ..fields import Buffers, next_slot
from ..registry import find
from ..task import MASK_64, Task, allocate
from .actions import legal_count
from .kernels import ALL_LEGAL, reset_envs, show_envs, step_frames, step_placements
from .layout import BUTTONS, EPISODES, LONGEST_FALL, SCRATCH
from .task import TASKS
from .views import table


class Bottles:
    """Environments `lo..hi` of `drmario` or `drmario-frames`."""

    def __init__(self, task: Task, lo: int, hi: int, buffers: Buffers, seed: int) -> None:
        num_envs = buffers["action"].shape[1]
        if not 0 <= lo < hi <= num_envs:
            raise ValueError(f"expected 0 <= lo < hi <= {num_envs} environments, got {lo} and {hi}")
        self.lo, self.hi = lo, hi
        self._buffers, self._seed = buffers, np.uint64(seed & MASK_64)
        self._by_frame = not task.masked
        self._step = step_frames if self._by_frame else step_placements
        self._slots: int = buffers["action"].shape[0]
        self._scratch, self._path = np.zeros(SCRATCH, np.uint64), np.zeros(LONGEST_FALL, np.uint8)
        self.table = table(task, buffers, self._scratch, self._path)
        buffers["episode"][0, lo:hi] = buffers["state"][0, lo:hi, EPISODES].astype(np.int64) - 1

    def reset(self, mask: NDArray[np.bool_], slot: int) -> None:
        """Begin the next episode of the masked ones, `(hi - lo,)`, and write their first observations into `slot`."""
        if mask.shape != (self.hi - self.lo,):
            raise ValueError(f"expected a mask of shape {(self.hi - self.lo,)}, got {mask.shape}")
        reset_envs(self.table, self.lo, self._known(slot), mask, self._seed)

    def step(self, slot: int) -> None:
        """Read the actions of `slot`, write everything else into the next slot, auto-reset what ended.

        Raises:
            IllegalAction: An action is out of range or masked; then nothing was stepped.
        """
        following = self._known(next_slot(slot, self._slots))
        wrong = self._step(self.table, self.lo, self.hi, self._known(slot), following)
        if wrong != ALL_LEGAL:
            raise self._complaint(wrong, slot)

    def show(self, slot: int) -> None:
        """Write observations, masks, numbers and boards into `slot`, also of states restored from outside."""
        show_envs(self.table, self.lo, self.hi, self._known(slot))

    def close(self) -> None:
        """Release the buffers."""
        del self.table, self._buffers

    def _known(self, slot: int) -> int:
        """The slot; kernels write to addresses, so one that is none must not get there."""
        if 0 <= slot < self._slots:
            return slot
        raise IndexError(f"expected a slot from 0 to {self._slots - 1}, and a step one after it; got {slot}")

    def _complaint(self, env: int, slot: int) -> IllegalAction:
        action = int(self._buffers["action"][slot, env])
        if self._by_frame:
            return IllegalAction(f"environment {env} expects an action from 0 to {len(BUTTONS) - 1}, got {action}")
        legal = legal_count(self._buffers["state"][0, env])
        return IllegalAction(
            f"environment {env} expects one of the {legal} placements that its action_mask allows, got {action}; "
            "mask the policy's output before choosing"
        )


def compile_all() -> None:
    """Compile every kernel, or load it from the disk's cache, so that workers need not."""
    for family in TASKS:
        task = find(family.name)
        buffers = allocate(task, 1, 2)
        envs = Bottles(task, 0, 1, buffers, 0)
        envs.reset(np.ones(1, np.bool_), 0)
        if task.masked:
            buffers["action"][0, 0] = np.unpackbits(buffers["action_mask"][0, 0], bitorder="little").argmax()
        envs.step(0)
        envs.show(0)
