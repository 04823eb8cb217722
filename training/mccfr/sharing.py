"""Lets several workers learn into one small table without getting in each other's way.

Workers that all write a table of a few pages write the same cache lines all the time: two are no faster than one, and
each now and then overwrites what another has just added. So each learns into a copy of its own, and adds what it has
gained to the table every few iterations, one worker at a time: nothing is lost.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from .compiled import compiled, inlined

PATIENCE = 20_000
"""How often a worker tries the lock, about a millisecond, before it takes it from one that has died with it."""


class Shared(NamedTuple):
    """What all workers share, and what this one has seen of it.

    Attributes:
        table: `(2 x entries,)` float32.
        updates: `(rows,)` uint32.
        lock: `(1,)` int32, 1 while a worker adds to them.
        seen: `(2 x entries,)` float32, the table as it was when the worker's copy was last the same.
        stretch: Iterations from one exchange to the next; 0 if the worker has no copy.
    """

    table: NDArray[np.float32]
    updates: NDArray[np.uint32]
    lock: NDArray[np.int32]
    seen: NDArray[np.float32]
    stretch: np.uint64


def _first(context: Any, builder: Any, kind: Any, array: Any) -> Any:
    view = context.make_array(kind)(context, builder, array)
    zero = context.get_constant(types.intp, 0)
    return cgutils.get_item_pointer(context, builder, kind, view, [zero])  # type: ignore[no-untyped-call]


def _take(_context: Any, lock: Any) -> Any:
    """Set a lock that is 0 to 1; whether that was done."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        free, taken = (context.get_constant(types.int32, value) for value in (0, 1))
        at = _first(context, builder, signature.args[0], arguments[0])
        return builder.extract_value(builder.cmpxchg(at, free, taken, "acquire", "monotonic"), 1)

    return types.boolean(lock), build


def _leave(_context: Any, lock: Any) -> Any:
    """Set a lock to 0, after all that was written before."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        at = _first(context, builder, signature.args[0], arguments[0])
        builder.store_atomic(context.get_constant(types.int32, 0), at, "release", 4)
        return context.get_dummy_value()

    return types.void(lock), build


take: Any = intrinsic(_take)
leave: Any = intrinsic(_leave)


@inlined
def exchange(shared: Shared, table: NDArray[np.float32], updates: NDArray[np.uint32]) -> None:
    """Add what a copy has gained to the shared tables, and take over what others have added."""
    tries = 0
    while tries < PATIENCE and not take(shared.lock):
        tries += 1
    for place in range(len(table)):
        now = shared.table[place] + (table[place] - shared.seen[place])
        shared.table[place] = shared.seen[place] = table[place] = now
    for row in range(len(updates)):
        shared.updates[row] += updates[row]
        updates[row] = 0
    leave(shared.lock)


def alone(table: NDArray[np.float32], updates: NDArray[np.uint32]) -> Shared:
    """Return what a worker needs that learns into the tables themselves."""
    return Shared(table.reshape(-1), updates, np.zeros(1, np.int32), np.zeros(0, np.float32), np.uint64(0))


@compiled
def exchange_now(shared: Shared, table: NDArray[np.float32], updates: NDArray[np.uint32]) -> None:
    """`exchange`, for the end of a batch."""
    exchange(shared, table, updates)
