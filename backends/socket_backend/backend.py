"""Server processes behind Unix sockets, over the binary protocol."""

from __future__ import annotations

import secrets
import socket
from pathlib import Path
from typing import ClassVar

from ..core.layout import Layout
from ..servers.served import ServedBackend
from ..system.cores import usable_cores
from ..system.segment import own_directory
from ..workers.control import LONG_SPIN
from ..workers.member import Member
from .client import SocketConnections

LONGEST_PATH = 103
"""The longest path of a socket on all systems, in bytes."""
MOST_SERVERS = 9999


class SocketBackend(ServedBackend):
    """Servers behind Unix sockets."""

    name: ClassVar[str] = "socket"
    _connections: SocketConnections

    @classmethod
    def unavailable(cls, layout: Layout) -> str:
        """Return a message if Unix sockets are missing, paths are too long or open files too few."""
        if not hasattr(socket, "AF_UNIX"):
            return "the system has no Unix sockets"
        length = len(bytes(own_directory() / _name("0" * 8, MOST_SERVERS)))
        if length > LONGEST_PATH:
            return f"a socket's path may have {LONGEST_PATH} bytes and would have {length}; set PAC_RUNTIME_DIR"
        return super().unavailable(layout)

    def _open(self) -> None:
        folder, token = own_directory(), secrets.token_hex(4)
        common = {"spec": self.task.spec, "seed": self.seed}
        spans = [
            {**common, "lo": lo, "hi": hi, "path": str(folder / _name(token, index))}
            for index, (lo, hi) in enumerate(self._spans())
        ]
        roomy = len(spans) < usable_cores()
        connections = SocketConnections(self.task, self.environments, self.buffer, spin=LONG_SPIN if roomy else 0)
        self._open_connections("pac.backends.socket_backend.server:work", spans, connections)

    def _connect(self, member: Member) -> None:
        """Connect to a server that is ready, then remove its path: no other process needs it."""
        path = Path(member.arguments["path"])
        for env in range(*member.span):
            self._connections.connect(env, path, member.arguments["seed"], self.timeout)
            self._connections.go_on(env)
        path.unlink(missing_ok=True)

    def _stop(self) -> None:
        super()._stop()
        for member in self._fleet.members:
            Path(member.arguments["path"]).unlink(missing_ok=True)


def _name(token: str, index: int) -> str:
    return f"socket-{token}-{index}"
