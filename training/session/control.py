"""Commands to a session over a Unix socket (0600), one JSON object per line each way. Nothing else travels here.

A connection is a viewer: while one is open somebody watches. A viewer says `detach` before it leaves a session running.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from io import BufferedRWPair
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

from ...envs import PacError
from .viewers import Viewer, Viewers

SOCKET = "control.sock"
MAX_LINE = 65_536
MAX_CONNECTIONS = 64
NAP = 0.1  # s until the next try to accept a connection, where the system refused one
TIMEOUT = 10.0

Handler: TypeAlias = Callable[[Viewer, Mapping[str, Any]], Mapping[str, Any] | None]


class SessionGone(PacError):
    """The session's process has ended or does not answer."""

    title = "Session is gone"


class SocketNotCreated(PacError):
    """The socket that commands would come through cannot be made."""

    title = "No socket"


class CommandRefused(PacError):
    """The session understood a command and would not do it."""

    title = "Not now"


class ControlServer:
    """Answers commands in threads of its own.

    Args:
        directory: Where the socket stands.
        handle: Answers one command of a viewer.
        viewers: Knows the open connections.
    """

    def __init__(self, directory: Path, handle: Handler, viewers: Viewers) -> None:
        self._viewers = viewers
        self._handle = handle
        self._closed = threading.Event()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        path = directory / SOCKET
        try:
            self._socket.bind(str(path))
        except OSError as error:
            self._socket.close()
            raise SocketNotCreated(
                f"no socket can be made at {path}: {error.args[-1]}; "
                "set PAC_RUNTIME_DIR to a short path, at most 50 letters"
            ) from error
        path.chmod(0o600)
        self._socket.listen()
        threading.Thread(target=self._accept, name="control", daemon=True).start()

    def _accept(self) -> None:
        while not self._closed.is_set():
            try:
                connection, _ = self._socket.accept()
            except OSError:  # closed, or out of files for now
                self._closed.wait(NAP)
                continue
            if len(self._viewers) >= MAX_CONNECTIONS:
                self._turn_away(connection, f"{MAX_CONNECTIONS} viewers are connected, the most; close one of them")
                continue
            try:
                threading.Thread(target=self._serve, args=(connection,), name="viewer", daemon=True).start()
            except RuntimeError as error:
                self._turn_away(connection, str(error))

    @staticmethod
    def _turn_away(connection: socket.socket, reason: str) -> None:
        """Close a connection that cannot be served; the reason is what its first command will read as an answer."""
        with connection, suppress(OSError):
            connection.settimeout(0)
            connection.sendall(json.dumps({"ok": False, "title": "No room", "error": reason}).encode() + b"\n")

    def _serve(self, connection: socket.socket) -> None:
        viewer = Viewer()
        self._viewers.enter(viewer)
        try:
            with connection, connection.makefile("rwb") as stream:
                while line := _line(stream):
                    stream.write(json.dumps(self._answer(viewer, line)).encode() + b"\n")
                    stream.flush()
        except OSError:
            pass  # the viewer went away; that it did is what matters
        finally:
            self._viewers.leave(viewer)

    def _answer(self, viewer: Viewer, line: bytes) -> Mapping[str, Any]:
        try:
            return {"ok": True, **(self._handle(viewer, _request(line)) or {})}
        except PacError as error:
            return {"ok": False, "title": error.title, "error": str(error)}
        except Exception as error:
            return {"ok": False, "title": "Command failed", "error": f"{type(error).__name__}: {error}"}

    def close(self) -> None:
        """Stop listening."""
        self._closed.set()
        with suppress(OSError):  # a close alone leaves Linux waiting in `accept`, and a Mac knows no other
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


def _line(stream: BufferedRWPair) -> bytes:
    """Return the next line, or the beginning of one that is too long; nothing at the end."""
    line = part = stream.readline(MAX_LINE)
    while part and not part.endswith(b"\n"):
        part = stream.readline(MAX_LINE)
    return line


def _request(line: bytes) -> Mapping[str, Any]:
    """Read what a viewer sent.

    Raises:
        CommandRefused: It is not a command.
    """
    try:
        request = json.loads(line, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        request = None
    if not isinstance(request, dict) or "command" not in request:
        raise CommandRefused('a command is {"command": NAME, ...}, strict JSON on one line of at most 64 KiB')
    return request


def _refuse_constant(name: str) -> NoReturn:
    """Refuse NaN and Infinity, which Python's JSON has beyond the standard."""
    raise ValueError(name)


class SessionClient:
    """Sends commands to the session in `directory`; one thread at a time may call."""

    def __init__(self, directory: Path) -> None:
        self._lock = threading.Lock()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(TIMEOUT)
        try:
            self._socket.connect(str(directory / SOCKET))
        except OSError as error:
            self._socket.close()
            raise SessionGone(f"no session answers at {directory}: {error.strerror}") from error
        self._stream = self._socket.makefile("rwb")

    def call(self, command: str, **arguments: Any) -> dict[str, Any]:
        """Send one command and return its answer.

        Raises:
            CommandRefused: The session would not do it; the text says why.
            SessionGone: It does not answer.
        """
        line = json.dumps({"command": command, **arguments}).encode() + b"\n"
        try:
            with self._lock:
                self._stream.write(line)
                self._stream.flush()
                answer = json.loads(self._stream.readline(MAX_LINE) or b"null")
        except (OSError, ValueError) as error:
            raise SessionGone(f"the session does not answer ({error})") from error
        if answer is None:
            raise SessionGone("the session has closed the connection")
        if not answer.pop("ok"):
            raise CommandRefused(f"{answer['title']}: {answer['error']}")
        return dict(answer)

    def close(self) -> None:
        """Leave; the session notices."""
        with suppress(OSError):  # what a command left behind that found nobody there
            self._stream.close()
        self._socket.close()
