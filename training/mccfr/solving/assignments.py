"""What workers are told to do, taken piece by piece: one that is done takes over what others have not begun.

So all are done at nearly the same time, and nobody waits for one that a busy machine slows down.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiled import compiled
from .sharing import swap

LEAST = 64
"""Iterations that are worth being taken alone."""


class Assignments(NamedTuple):
    """The order of every worker; `(workers,)` each, in shared memory.

    Attributes:
        first: int64, the number of its first iteration.
        wanted: How many it is told to make.
        taken: int64, how many of these somebody has made or is making; 0 when the order is given.
        shared: Whether other processes take of them, too.
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

    def take(self, worker: int, most: int) -> tuple[int, int]:
        """Take a piece of a worker's order, if it is shared half of what is left; return its first iteration and size.

        Args:
            worker: Whose order.
            most: The largest size.
        """
        taken, size = _take(self.taken[worker : worker + 1], int(self.wanted[worker]), most, self.shared)
        return int(self.first[worker]) + taken, size


@compiled
def _take(taken: NDArray[np.int64], wanted: int, most: int, shared: bool) -> tuple[int, int]:
    while True:
        done = taken[0]
        left = max(wanted - done, 0)
        size = min(left, most, max(LEAST, left // 2) if shared else left)
        if not size or swap(taken, done, done + size):
            return done, size
