"""Files that stay ours in a program that closes "all" descriptors, as daemons do, and then opens files of its own.

Those would get the numbers of ours, and we would use and close them.
"""

from __future__ import annotations

import ctypes
import fcntl
import mmap
import os
import sys
from contextlib import suppress

LOWEST = 600
"""The lowest descriptor that is out of reach. Many programs close those below 256."""
MAP_FIXED = 0x10  # on Linux and macOS


def out_of_reach(descriptor: int) -> int:
    """Return a high descriptor of the same file, which is closed at `exec`; close the other one."""
    with suppress(OSError):  # none is free there
        moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, LOWEST)
        os.close(descriptor)
        return moved
    return descriptor


def untracked_map(descriptor: int, size: int) -> mmap.mmap:
    """Map a file for writing. The mapping has no descriptor, unlike those of Python before 3.13.

    Raises:
        OSError: It cannot be mapped.
    """
    if sys.version_info >= (3, 13):
        return mmap.mmap(descriptor, size, trackfd=False)
    memory = mmap.mmap(-1, size)  # its pages are replaced by the file's
    place = ctypes.CDLL(None, use_errno=True).mmap
    place.restype = ctypes.c_void_p
    place.argtypes = ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    access, kind = mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED | MAP_FIXED
    if place(address, size, access, kind, descriptor, 0) != address:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return memory
