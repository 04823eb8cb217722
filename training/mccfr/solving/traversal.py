"""The arrays of a traversal."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .public_tree import DealtHands, SamplingTree
from .sharing import SharedTables


class VisitList(NamedTuple):
    """The nodes visited in a traversal, in order; `(m,)` each, for a tree of m nodes.

    Attributes:
        node: uint32, a decision of the traverser, or a terminal t as `TERMINAL + t`.
        below: uint32, the index of its first child in this list; in outcome sampling, the action taken.
        value: float32, its value to the traverser.
    """

    node: NDArray[np.uint32]
    below: NDArray[np.uint32]
    value: NDArray[np.float32]


class TraversalArrays(NamedTuple):
    """The arrays that a traversal reads and writes.

    Attributes:
        plan: The betting tree.
        hands: Deals.
        table: `(2 x entries,)` float32, see `matching`.
        rests: `(entries,)` float32, what the sums of the average could not represent, see `matching.follow`. It is this
            worker's own, since it is less than the last digit of a sum.
        updates: `(rows,)` uint32, how often each row's regrets were updated.
        visits: Working memory.
        shared: The shared tables, if `table` and `updates` are copies.
    """

    plan: SamplingTree
    hands: DealtHands
    table: NDArray[np.float32]
    rests: NDArray[np.float32]
    updates: NDArray[np.uint32]
    visits: VisitList
    shared: SharedTables


def visits_for(plan: SamplingTree) -> VisitList:
    """Return memory for traversals of `plan`."""
    most = len(plan.nodes) + len(plan.amounts)
    return VisitList(np.zeros(most, np.uint32), np.zeros(most, np.uint32), np.zeros(most, np.float32))
