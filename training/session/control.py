"""Commands to a session over a Unix socket (0600), one JSON object per line in each direction.

A connection is a viewer. A viewer sends `detach` before it leaves a session that is to continue.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from io import BufferedRWPair
from pathlib import Path
from typing import Any, TypeAlias

from ...backends.system.sockets import bind, connect, out_of_reach
from ...envs import PacError
from ...envs.files import parse_json
from ..own_threads import OwnThread
from .viewers import Viewer, Viewers

SOCKET = "control.sock"
MAX_LINE, MAX_ANSWER = 65_536, 16 << 20
MAX_TITLE = 300
MAX_CONNECTIONS = 64
RETRY_DELAY = 0.1  # s until the next attempt to accept a connection after the system refused one
TIMEOUT = 10.0

Handler: TypeAlias = Callable[[Viewer, Mapping[str, Any]], Mapping[str, Any] | None]


class SessionGone(PacError):
    """The session has ended or does not answer."""

    title = "Session is gone"


class SocketNotCreated(PacError):
    """The socket for commands cannot be created."""

    title = "No socket"


class NoRoom(PacError):
    """The session cannot serve another viewer."""

    title = "No room"


class CommandRefused(PacError):
    """The session refuses a command."""

    title = "Not now"


def refusal_of(error: Exception) -> dict[str, Any]:
    """Return the answer to a command that raised an error."""
    title, text = (error.title, str(error)) if isinstance(error, PacError) else ("Command failed", "")
    return {"ok": False, "title": title, "error": text or f"{type(error).__name__}: {error}"}


def accepted(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of an answer.

    Raises:
        CommandRefused: The command was refused; the text says why.
    """
    if not answer.get("ok"):
        refused = CommandRefused(str(answer.get("error", "")))
        refused.title = str(answer.get("title", CommandRefused.title))[:MAX_TITLE]
        raise refused
    return {name: value for name, value in answer.items() if name != "ok"}


class ControlServer:
    """Answers commands, each connection in its own thread.

    Args:
        directory: Where the socket is created.
        handle: Answers one command of a viewer.
        viewers: Gets the open connections.
    """

    def __init__(self, directory: Path, handle: Handler, viewers: Viewers) -> None:
        self._viewers = viewers
        self._handle = handle
        self._closed = threading.Event()
        self._socket = out_of_reach(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        path = directory / SOCKET
        try:
            bind(self._socket, path)
        except OSError as error:
            self._socket.close()
            raise SocketNotCreated(
                f"cannot create the socket {path}: {error.args[-1]}; set PAC_RUNTIME_DIR to another directory"
            ) from error
        path.chmod(0o600)
        self._socket.listen()
        OwnThread(self._accept, "control").start()

    def _accept(self) -> None:
        while not self._closed.is_set():
            try:
                connection, _ = self._socket.accept()
            except OSError:  # closed, or out of file descriptors
                self._closed.wait(RETRY_DELAY)
                continue
            if len(self._viewers) >= MAX_CONNECTIONS:
                self._reject(connection, NoRoom(f"limit of {MAX_CONNECTIONS} viewers reached; close one of them"))
                continue
            try:
                OwnThread(self._serve, "viewer", (out_of_reach(connection),)).start()
            except RuntimeError as error:
                self._reject(connection, NoRoom(str(error)))

    @staticmethod
    def _reject(connection: socket.socket, error: Exception) -> None:
        """Close a connection that cannot be served; its first command gets the error as its answer."""
        with connection, suppress(OSError):
            connection.settimeout(0)
            connection.sendall(json.dumps(refusal_of(error)).encode() + b"\n")

    def _serve(self, connection: socket.socket) -> None:
        viewer = Viewer()
        self._viewers.add(viewer)
        try:
            with connection, connection.makefile("rwb") as stream:
                while line := _line(stream):
                    stream.write(json.dumps(self._answer(viewer, line)).encode() + b"\n")
                    stream.flush()
        except OSError:
            pass  # the viewer has closed the connection
        finally:
            self._viewers.remove(viewer)

    def _answer(self, viewer: Viewer, line: bytes) -> Mapping[str, Any]:
        try:
            return {"ok": True, **(self._handle(viewer, _request(line)) or {})}
        except Exception as error:
            return refusal_of(error)

    def close(self) -> None:
        """Stop listening."""
        self._closed.set()
        with suppress(OSError):  # on Linux, `close` alone does not end `accept`; macOS does not support `shutdown` here
            self._socket.shutdown(socket.SHUT_RDWR)
        with suppress(OSError):  # a script may close all descriptors, as daemons do
            self._socket.close()


def _line(stream: BufferedRWPair) -> bytes:
    """Return the next line, or the beginning of a line that is too long; nothing at the end of the stream."""
    line = part = stream.readline(MAX_LINE)
    while part and not part.endswith(b"\n"):
        part = stream.readline(MAX_LINE)
    return line


def _request(line: bytes) -> Mapping[str, Any]:
    """Parse what a viewer sent.

    Raises:
        CommandRefused: It is not a command.
    """
    try:
        request = parse_json(line)
    except ValueError:
        request = None
    if not isinstance(request, dict) or "command" not in request:
        raise CommandRefused('expected {"command": NAME, ...}, strict JSON on one line of at most 64 KiB')
    return request


class SessionClient:
    """Sends commands to the session in `directory`, which has a time limit to answer; one thread at a time may call."""

    def __init__(self, directory: Path, timeout: float = TIMEOUT) -> None:
        self._lock = threading.Lock()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(timeout)
        try:
            connect(self._socket, directory / SOCKET)
        except OSError as error:
            self._socket.close()
            raise SessionGone(f"no session answers at {directory}: {error.strerror}") from error
        self._stream = self._socket.makefile("rwb")

    def call(self, command: str, **arguments: Any) -> dict[str, Any]:
        """Send one command and return its answer.

        Raises:
            CommandRefused: The session refused it; the text says why.
            SessionGone: It does not answer.
        """
        line = json.dumps({"command": command, **arguments}).encode() + b"\n"
        try:
            with self._lock:
                self._stream.write(line)
                self._stream.flush()
                answer = parse_json(self._stream.readline(MAX_ANSWER) or b"null", finite=False)
        except (OSError, ValueError) as error:
            raise SessionGone(f"the session does not answer ({error})") from error
        if answer is None:
            raise SessionGone("the session has closed the connection")
        if not isinstance(answer, dict):
            raise SessionGone("the session gives no answers to commands")
        return accepted(answer)

    def close(self) -> None:
        """Close the connection."""
        with suppress(OSError):  # a command that could not be sent is still buffered
            self._stream.close()
        self._socket.close()
