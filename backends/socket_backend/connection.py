"""A server's side of one connection. Unsent bytes are sent later, and until then no request is read."""

from __future__ import annotations

import selectors
import socket

from .responses import Responses

MOST_VIEWS = 512
"""Views sent in one call; systems allow 1,024."""


class Connection:
    """One client, and its environment once a request needed one.

    Args:
        wire: The socket.
        selector: The selector that waits for it.

    Attributes:
        wire: The socket.
        answers: Encodes the answers of its environment.
        unread: Bytes of an incomplete frame.
        unsent: Bytes that the client has not received; until then no request is read.
        records: Whether it sent HELLO_REQ and gets RECORDs.
        boards: Whether it gets BOARDs.
        closing: Whether to close when everything is sent.
    """

    def __init__(self, wire: socket.socket, selector: selectors.BaseSelector) -> None:
        self.wire, self._selector = wire, selector
        self.answers: Responses | None = None
        self.unread = self.unsent = b""
        self.records = self.boards = self.closing = False
        wire.setblocking(False)
        selector.register(wire, selectors.EVENT_READ, self)

    def send(self, *views: bytes | memoryview) -> None:
        """Send views of bytes; keep those that the client does not receive now."""
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
        """Send unsent bytes; when all are sent, read requests again."""
        try:
            self.unsent = self.unsent[self.wire.send(self.unsent) :]
        except BlockingIOError:
            return
        except OSError:
            self.unsent, self.closing = b"", True
        if not self.unsent:
            self._selector.modify(self.wire, selectors.EVENT_READ, self)

    def close(self) -> None:
        """Close the connection immediately."""
        self._selector.unregister(self.wire)
        self.wire.close()
