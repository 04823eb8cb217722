"""The iterations assigned to each worker of a step, which workers claim piece by piece.

A worker that is done claims iterations of the others. So all are done at nearly the same time, even if a busy machine
slows one down.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiled import compiled
from .sharing import swap

MIN_CLAIM = 64
"""The smallest piece of iterations that is worth a claim."""


class Assignments(NamedTuple):
    """The iterations of every worker in a step; `(workers,)` each, in shared memory.

    Attributes:
        first: int64, the number of its first iteration.
        wanted: How many iterations it was assigned.
        taken: int64, how many of these were claimed; 0 at the start of a step.
        shared: Whether other processes claim iterations, too.
    """

    first: NDArray[np.int64]
    wanted: NDArray[np.float32]
    taken: NDArray[np.int64]
    shared: bool

    @property
    def begin(self) -> int:
        """The number of the first iteration of all."""
        return int(self.first.min())

    @property
    def end(self) -> int:
        """The number after that of the last iteration of all."""
        return int((self.first + self.wanted.astype(np.int64)).max())

    def claim(self, worker: int, most: int) -> tuple[int, int]:
        """Claim some iterations of a worker, half of the rest if they are shared; return the first one and how many.

        Args:
            worker: Whose iterations.
            most: The most iterations to claim.
        """
        taken, size = _claim(self.taken[worker : worker + 1], int(self.wanted[worker]), most, self.shared)
        return int(self.first[worker]) + taken, size


@compiled
def _claim(taken: NDArray[np.int64], wanted: int, most: int, shared: bool) -> tuple[int, int]:
    while True:
        done = taken[0]
        left = max(wanted - done, 0)
        size = min(left, most, max(MIN_CLAIM, left // 2) if shared else left)
        if not size or swap(taken, done, done + size):
            return done, size
