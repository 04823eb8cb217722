"""Server processes over HTTP with JSON: one request per environment and step. It is a baseline."""

from __future__ import annotations

import secrets
from typing import ClassVar

from ..servers.served import ServedBackend
from ..workers.control import NUMBER
from ..workers.member import Member
from .client import HttpConnections


class HttpBackend(ServedBackend):
    """Servers on ports of 127.0.0.1, with a token."""

    name: ClassVar[str] = "http"
    _connections: HttpConnections

    def _open(self) -> None:
        token = secrets.token_urlsafe(24)
        connections = HttpConnections(self.task, self.buffer, token)
        self._open_connections("pac.backends.http_backend.server:work", connections, token=token)

    def _connect(self, member: Member) -> None:
        port = member.block.quads[NUMBER]
        for env in range(*member.span):
            self._connections.connect(env, port, member.arguments["seed"], self.timeout)
