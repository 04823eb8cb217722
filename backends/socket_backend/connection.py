"""A server's end of one connection: what the client does not take at once goes out later, and keeps it from asking."""

from __future__ import annotations

import selectors
import socket

from ..servers.hosting import HostedEnvironment
from .responses import Responses

MOST_VIEWS = 512
"""Views that go out in one call; systems take 1,024."""


class Connection:
    """One client, and its environment once it asked for something that needs one.

    Args:
        wire: The socket.
        selector: What waits for it.

    Attributes:
        wire: The socket.
        place: The environment's place among the server's.
        host: The environment.
        answers: What encodes its answers.
        unread: Bytes of a frame that is not whole yet.
        unsent: Bytes that the client did not take yet; until it does, nothing more is read of it.
        records: Whether it said hello, and so wants RECORDs.
        boards: Whether it wants BOARDs.
        closing: Whether to close once everything is sent.
    """

    def __init__(self, wire: socket.socket, selector: selectors.BaseSelector) -> None:
        self.wire, self._selector = wire, selector
        self.place: int | None = None
        self.host: HostedEnvironment | None = None
        self.answers: Responses | None = None
        self.unread = self.unsent = b""
        self.records = self.boards = self.closing = False
        wire.setblocking(False)
        selector.register(wire, selectors.EVENT_READ, self)

    def say(self, *views: bytes | memoryview) -> None:
        """Send views of bytes, or what of them the client takes now."""
        sent = 0
        if not self.unsent:
            try:
                sent = self.wire.sendmsg(views[:MOST_VIEWS])
            except BlockingIOError:
                pass
            except OSError:
                self.closing = True
                return
        if sent < sum(map(len, views)):
            self.unsent += b"".join(views)[sent:]
            self._selector.modify(self.wire, selectors.EVENT_WRITE, self)

    def flush(self) -> None:
        """Send more of what the client did not take; once it has all, it may ask again."""
        try:
            self.unsent = self.unsent[self.wire.send(self.unsent) :]
        except BlockingIOError:
            return
        except OSError:
            self.unsent, self.closing = b"", True
        if not self.unsent:
            self._selector.modify(self.wire, selectors.EVENT_READ, self)

    def close(self) -> None:
        """Close it, now."""
        self._selector.unregister(self.wire)
        self.wire.close()
