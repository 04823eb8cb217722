"""Lets several workers update one small table.

If all workers wrote a table of a few pages, they would write the same cache lines all the time. Two would be no faster
than one, and would sometimes overwrite each other's updates. So each has a copy, and adds its changes to the table
every few iterations under a lock. No update is lost. While a worker has iterations left, it does not wait for the lock.

The iterations assigned to each worker of a step, which workers claim piece by piece.

A worker that is done claims iterations of the others. So all are done at nearly the same time, even if a busy machine
slows one down.
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
"""Seconds between two attempts to take the lock at the end of a batch."""


class SharedTables(NamedTuple):
    """The shared tables, and the state in which this worker last saw them.

    Attributes:
        table: `(2 x entries,)` float32.
        updates: `(rows,)` uint32.
        lock: `(1,)` int32, the process that is changing them, 0 if none.
        process: This worker's process.
        seen: `(2 x entries,)` float32, the table at the last exchange, when the copy was equal to it.
        stretch: Iterations between two exchanges; 0 if the worker has no copy.
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
    """Compare and swap the first word of an array; whether it had the expected value."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        at = _first(context, builder, signature.args[0], arguments[0])
        return builder.extract_value(builder.cmpxchg(at, *arguments[1:], "acq_rel", "monotonic"), 1)

    return types.boolean(lock, lock.dtype, lock.dtype), build


def _leave(_context: Any, lock: Any) -> Any:
    """Set a lock to 0 with release semantics."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        at = _first(context, builder, signature.args[0], arguments[0])
        builder.store_atomic(context.get_constant(types.int32, 0), at, "release", 4)
        return context.get_dummy_value()

    return types.void(lock), build


swap: Any = intrinsic(_swap)
leave: Any = intrinsic(_leave)


@inlined
def exchange(shared: SharedTables, table: NDArray[np.float32], updates: NDArray[np.uint32]) -> bool:
    """Add the changes of a copy to the shared tables, and copy those of the others, if the lock is free.

    Returns:
        Whether the lock was free.
    """
    if not swap(shared.lock, FREE, shared.process):
        return False
    add(shared, table, updates)
    leave(shared.lock)
    return True


@inlined
def add(shared: SharedTables, table: NDArray[np.float32], updates: NDArray[np.uint32]) -> None:
    """Add the changes of a copy to the shared tables, and copy those of the others. The caller has the lock."""
    for place in range(len(table)):
        now = shared.table[place] + (table[place] - shared.seen[place])
        shared.table[place] = shared.seen[place] = table[place] = now
    for row in range(len(updates)):
        shared.updates[row] += updates[row]
        updates[row] = 0


def copied(
    table: NDArray[np.float32], updates: NDArray[np.uint32], lock: NDArray[np.int32], stretch: int
) -> tuple[SharedTables, NDArray[np.float32], NDArray[np.uint32]]:
    """Return what a worker needs to update copies and to exchange them every `stretch` iterations, and the copies."""
    copy = table.reshape(-1).copy()
    shared = SharedTables(table.reshape(-1), updates, lock, np.int32(os.getpid()), copy.copy(), np.uint64(stretch))
    return shared, copy, np.zeros_like(updates)


def unshared(table: NDArray[np.float32], updates: NDArray[np.uint32]) -> SharedTables:
    """Return what a worker needs that updates the tables directly."""
    nobody = np.zeros(1, np.int32)
    return SharedTables(table.reshape(-1), updates, nobody, FREE, np.zeros(0, np.float32), np.uint64(0))


def exchange_when_free(shared: SharedTables, table: NDArray[np.float32], updates: NDArray[np.uint32]) -> None:
    """Wait for the lock, then do what `exchange` does."""
    with locked(shared):
        _add(shared, table, updates)


@contextmanager
def locked(shared: SharedTables) -> Iterator[None]:
    """Wait for the lock and keep it during the context. A lock of a dead process is freed."""
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
