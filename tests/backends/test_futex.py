"""Fences order accesses to shared memory and never wait; a wake-up reaches everybody who waits."""

import ctypes
import threading

import psutil
import pytest

from pac.backends.system import futex

from ..waiting import LIMIT, until


@pytest.mark.parametrize("fence", [futex._light_fence, futex._full_fence])
def test_a_fence_never_blocks(fence):
    """Not even where an exception left the shared lock taken."""
    with futex._lock:
        fence()
    fence()
    assert not futex._lock.locked()


def test_a_wake_up_wakes_all_waiters():
    """One call ends the waits of all threads that wait on a word."""
    word = ctypes.c_uint32()
    address = ctypes.c_void_p(ctypes.addressof(word))
    waiters = [threading.Thread(target=futex.wait_on, args=(address, 0, 2 * LIMIT), daemon=True) for _ in range(3)]
    for waiter in waiters:
        waiter.start()
    until(lambda: all(psutil.Process(waiter.native_id).status() == psutil.STATUS_SLEEPING for waiter in waiters))
    word.value = 1
    futex.wake_up(address)
    for waiter in waiters:
        waiter.join(LIMIT)
        assert not waiter.is_alive()
