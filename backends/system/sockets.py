"""Unix sockets at paths of any length: an address holds about 100 bytes."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ...envs import entries

LONGEST_PATH = 103
"""The longest path that fits into an address on all systems, in bytes."""


def bind(wire: socket.socket, path: Path) -> None:
    """Bind a socket to a path.

    Raises:
        OSError: The path exists, its folder does not, or (not on Linux) it is longer than `LONGEST_PATH`.
    """
    with _address(path) as address:
        wire.bind(address)


def connect(wire: socket.socket, path: Path) -> None:
    """Connect a socket to the server at a path.

    Raises:
        OSError: No server listens there, or (not on Linux) the path is longer than `LONGEST_PATH`.
    """
    with _address(path) as address:
        wire.connect(address)


def out_of_reach(wire: socket.socket) -> socket.socket:
    """Return a socket with a high descriptor, see `entries.out_of_reach`."""
    return socket.socket(fileno=entries.out_of_reach(wire.detach()))


@contextmanager
def _address(path: Path) -> Iterator[str]:
    """Yield the path or, if that is too long, a short name of the same file on Linux."""
    if sys.platform != "linux" or len(bytes(path)) <= LONGEST_PATH:
        yield str(path)
        return
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)
