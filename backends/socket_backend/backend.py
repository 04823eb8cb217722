"""Server processes behind Unix sockets, over the binary protocol."""

from __future__ import annotations

from typing import ClassVar

from ..servers.served import ServedBackend
from ..system.cores import usable_cores
from ..workers.control import LONG_SPIN
from ..workers.member import Member
from .client import SocketConnections
from .server import path_of


class SocketBackend(ServedBackend):
    """Servers behind Unix sockets."""

    name: ClassVar[str] = "socket"
    _connections: SocketConnections

    def _open(self) -> None:
        roomy = len(self._spans()) < usable_cores() and self.buffer.order.rollouts == 1  # else another thread learns
        connections = SocketConnections(self.task, self.buffer, spin=LONG_SPIN if roomy else 0)
        self._open_connections("pac.backends.socket_backend.server:work", connections)

    def _connect(self, member: Member) -> None:
        """Connect to a server that is ready, then remove its path: no other process needs it."""
        path = path_of(member.report)
        for env in range(*member.span):
            self._connections.connect(env, path, member.arguments["seed"], self.timeout)
            self._connections.go_on(env)
        path.unlink(missing_ok=True)
