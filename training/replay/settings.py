"""How a replay finds transitions, and the memory that it needs beside the ring."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ...backends.system.arrays import ArraySpec, NamedArrays
from ...envs import BadParameter, Task
from .priorities import PrioritySettings

MARGIN = 2
"""Positions at the newest end that no transition begins at: a person can still take over at the newest position."""
ALL_FINALS = 64 * 2**20
"""Bytes up to which there is room for last observations at all positions. Only what is written takes memory."""
FINAL_SHARE = 1 / 32
"""Last observations of truncated episodes that are kept, as a share of the ring, if all would be larger."""
LEAST_FINALS = 4


@dataclass(frozen=True)
class ReplaySettings:
    """How transitions are found.

    Attributes:
        capacity: Transitions to keep, at least.
        steps: n of the n-step return, in decisions.
        stack: Frames k of an observation.
        gamma: Discount per decision, or per frame.
        spare: Positions that may be written between the end of an iteration and the saving of its state.
        priorities: How transitions are drawn by their errors; None draws them uniformly.
    """

    capacity: int
    steps: int = 1
    stack: int = 1
    gamma: float = 0.99
    gamma_per_frame: bool = False
    spare: int = 0
    priorities: PrioritySettings | None = None

    def slots(self, rows: int) -> int:
        """Return how many slots a ring with `rows` rows needs.

        Raises:
            BadParameter: The capacity is too small for transitions of n steps and stacks of k frames.
        """
        beside = self.steps + self.stack + MARGIN
        if self.capacity < rows * beside:
            raise BadParameter(
                f"the replay must keep at least {rows * beside:,} transitions of {rows} rows, got {self.capacity:,}"
            )
        return math.ceil(self.capacity / rows) + beside + self.spare

    def specs(self, task: Task, slots: int, rows: int) -> dict[str, ArraySpec]:
        """Return the arrays that a replay of S slots and R rows needs beside the ring.

        Returns:
            `head` (2,), the number of positions written and the first usable one; the arrays of `RingViews` that are
            not in the ring; and `finals`, the last observations.
        """
        share = 1 if slots * rows * task.observation.row_bytes <= ALL_FINALS else FINAL_SHARE
        kept = max(LEAST_FINALS, math.ceil(slots * share)) + self.spare
        return {
            "head": ArraySpec((2,), "int64"),
            "age": ArraySpec((slots, rows), "uint8"),
            "final_at": ArraySpec((rows, kept), "int64"),
            "final_count": ArraySpec((rows,), "int64"),
            "finals": ArraySpec((rows, kept, *task.observation.stored_shape), task.observation.dtype),
        }

    def new_memory(self, task: Task, slots: int, rows: int, *, shared: bool = False) -> NamedArrays:
        """Return the arrays of `specs` for a new replay, in shared memory on request.

        Raises:
            SharedMemoryFull: They do not fit there.
        """
        specs = self.specs(task, slots, rows)
        arrays = NamedArrays.create(specs, "replay") if shared else NamedArrays(specs)
        arrays["final_at"].fill(-1)
        return arrays
