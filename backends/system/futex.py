"""Blocking on a 32-bit word that two processes share, and memory fences.

Linux has futexes. On other systems the waiting process polls every 0.5 ms.
"""

from __future__ import annotations

import ctypes
import platform
import sys
import threading
import time
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeAlias

Address: TypeAlias = ctypes.c_void_p
Wait: TypeAlias = Callable[[Address, int, float], None]
Wake: TypeAlias = Callable[[Address], None]

FUTEX_WAIT = 0
FUTEX_WAKE = 1
EVERYBODY = 2**31 - 1
FUTEX_NUMBERS = {"x86_64": 202, "aarch64": 98, "riscv64": 98}
POLL_INTERVAL = 0.0005
STRONGLY_ORDERED = platform.machine().lower() in {"x86_64", "amd64", "i686"}
"""Whether other cores see stores in program order, so that publishing needs no fence."""

_lock = threading.Lock()
_take, _give = _lock.acquire, _lock.release


def _light_fence() -> None:
    """Take and release a lock: on x86, each atomic read-modify-write is a full barrier.

    It never blocks. If an exception or another thread left the lock taken, a waiter wakes up by its time limit.
    """
    if _take(False):
        _give()


def _full_fence() -> None:
    """Release a lock, then take it: ARM keeps these two in order, and everything else on its side of them.

    Acquiring first, as on x86, would let earlier and later accesses be reordered between the two calls. The lock is new
    each time, so no other thread can hold it.
    """
    lock = threading.Lock()
    lock.acquire()
    lock.release()
    lock.acquire()


fence = _light_fence if STRONGLY_ORDERED else _full_fence
"""Order all earlier loads and stores of this thread before all later ones, as other processes see them."""


class _TimeSpec(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


def _linux(number: int) -> tuple[Wait, Wake]:
    # Arguments of ctypes' own types need no conversion, which makes these calls faster.
    syscall, call, nothing = ctypes.CDLL(None).syscall, ctypes.c_long(number), ctypes.c_void_p()
    everybody = ctypes.c_int(EVERYBODY)

    @lru_cache(maxsize=64)  # most waiters use one limit
    def limit(seconds: float) -> Any:
        return ctypes.pointer(_TimeSpec(int(seconds), int(seconds % 1 * 1e9)))

    def wait(address: Address, expected: int, seconds: float) -> None:
        syscall(call, address, FUTEX_WAIT, expected, limit(seconds))

    def wake(address: Address) -> None:
        syscall(call, address, FUTEX_WAKE, everybody, nothing)

    return wait, wake


def _elsewhere() -> tuple[Wait, Wake]:
    def wait(address: Address, expected: int, seconds: float) -> None:
        word, end = ctypes.c_uint32.from_address(address.value or 0), time.monotonic() + seconds
        while word.value == expected and time.monotonic() < end:
            time.sleep(POLL_INTERVAL)

    def wake(address: Address) -> None:
        del address

    return wait, wake


_number = FUTEX_NUMBERS.get(platform.machine()) if sys.platform == "linux" else None
wait_on, wake_up = _linux(_number) if _number else _elsewhere()
"""`wait_on(address, expected, seconds)` blocks while the word has that value, at most so long; it may return earlier.
`wake_up(address)` wakes all waiters."""
