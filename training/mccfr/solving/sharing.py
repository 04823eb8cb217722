"""Lets several workers learn into one small table without getting in each other's way.

Workers that all write a table of a few pages write the same cache lines all the time: two are no faster than one, and
each now and then overwrites what another has just added. So each learns into a copy of its own, and adds what it has
gained to the table every few iterations, one worker at a time: nothing is lost. Nobody waits for another's turn while
there are iterations left to make.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import psutil
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from ..compiled import compiled, inlined

FREE = np.int32(0)
NAP = 50e-6
"""Seconds between two tries to get the lock at the end of a batch."""


class SharedTables(NamedTuple):
    """What all workers share, and what this one has seen of it.

    Attributes:
        table: `(2 x entries,)` float32.
        updates: `(rows,)` uint32.
        lock: `(1,)` int32, the process that is adding to them, 0 if none is.
        process: This worker's process.
        seen: `(2 x entries,)` float32, the table as it was when the worker's copy was last the same.
        stretch: Iterations from one exchange to the next; 0 if the worker has no copy.
    """

    table: NDArray[np.float32]
    updates: NDArray[np.uint32]
    lock: NDArray[np.int32]
    process: np.int32
    seen: NDArray[np.float32]
    stretch: np.uint64


def _first(context: Any, builder: Any, kind: Any, array: Any) -> Any:
    view = context.make_array(kind)(context, builder, array)
    zero = context.get_constant(types.intp, 0)
    return cgutils.get_item_pointer(context, builder, kind, view, [zero])  # type: ignore[no-untyped-call]


def _swap(_context: Any, lock: Any, _old: Any, _new: Any) -> Any:
    """Set the first word of an array from one value to another; whether it had that value."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        at = _first(context, builder, signature.args[0], arguments[0])
        return builder.extract_value(builder.cmpxchg(at, *arguments[1:], "acq_rel", "monotonic"), 1)

    return types.boolean(lock, lock.dtype, lock.dtype), build


def _leave(_context: Any, lock: Any) -> Any:
    """Set a lock to 0, after all that was written before."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        at = _first(context, builder, signature.args[0], arguments[0])
        builder.store_atomic(context.get_constant(types.int32, 0), at, "release", 4)
        return context.get_dummy_value()

    return types.void(lock), build


swap: Any = intrinsic(_swap)
leave: Any = intrinsic(_leave)


@inlined
def exchange(shared: SharedTables, table: NDArray[np.float32], updates: NDArray[np.uint32]) -> bool:
    """Add what a copy has gained to the shared tables, and take over what others have added.

    Returns:
        Whether that was done: nothing is while another worker does it.
    """
    if not swap(shared.lock, FREE, shared.process):
        return False
    add(shared, table, updates)
    leave(shared.lock)
    return True


@inlined
def add(shared: SharedTables, table: NDArray[np.float32], updates: NDArray[np.uint32]) -> None:
    """Add what a copy has gained, and take over what others have added; the lock is held."""
    for place in range(len(table)):
        now = shared.table[place] + (table[place] - shared.seen[place])
        shared.table[place] = shared.seen[place] = table[place] = now
    for row in range(len(updates)):
        shared.updates[row] += updates[row]
        updates[row] = 0


def copied(
    table: NDArray[np.float32], updates: NDArray[np.uint32], lock: NDArray[np.int32], stretch: int
) -> tuple[SharedTables, NDArray[np.float32], NDArray[np.uint32]]:
    """Return copies for a worker to learn into and exchange every `stretch` iterations, and what it needs for that."""
    copy = table.reshape(-1).copy()
    shared = SharedTables(table.reshape(-1), updates, lock, np.int32(os.getpid()), copy.copy(), np.uint64(stretch))
    return shared, copy, np.zeros_like(updates)


def alone(table: NDArray[np.float32], updates: NDArray[np.uint32]) -> SharedTables:
    """Return what a worker needs that learns into the tables themselves."""
    nobody = np.zeros(1, np.int32)
    return SharedTables(table.reshape(-1), updates, nobody, FREE, np.zeros(0, np.float32), np.uint64(0))


def exchange_surely(shared: SharedTables, table: NDArray[np.float32], updates: NDArray[np.uint32]) -> None:
    """`exchange`, as soon as no other worker does."""
    with held(shared):
        _add(shared, table, updates)


@contextmanager
def held(shared: SharedTables) -> Iterator[None]:
    """Hold the lock, as soon as no other worker does; one that died while it did is no hindrance."""
    while not _take(shared.lock, shared.process):
        time.sleep(NAP)
        holder = shared.lock[0]
        if holder != FREE and not psutil.pid_exists(int(holder)):
            _free(shared.lock, holder)
    try:
        yield
    finally:
        _free(shared.lock, shared.process)


@compiled
def _add(shared: SharedTables, table: NDArray[np.float32], updates: NDArray[np.uint32]) -> None:
    add(shared, table, updates)


@compiled
def _take(lock: NDArray[np.int32], process: np.int32) -> bool:
    taken: bool = swap(lock, FREE, process)
    return taken


@compiled
def _free(lock: NDArray[np.int32], holder: np.int32) -> None:
    swap(lock, holder, FREE)
