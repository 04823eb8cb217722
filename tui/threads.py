"""The two threads beside the app's own: one looks at the session, one commands it. Neither touches a widget."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any

from textual.message import Message

from ..backends.core.errors import ending
from ..envs import PacError
from ..training.runs.sessions import UNKNOWN_EXIT_CODE
from ..training.session.control import SessionGone
from ..training.telemetry.snapshot import ViewRequest
from .connection import SessionConnection
from .messages import Refused, SessionLost, SnapshotTaken

Post = Callable[[Message], Any]
PATIENCE = 1.0  # s between two looks at a session that cannot be looked at


class SnapshotThread:
    """Takes a snapshot whenever one was requested; requests that come meanwhile collapse into one."""

    def __init__(self, connection: SessionConnection, post: Post) -> None:
        self._connection = connection
        self._post = post
        self._look = ViewRequest()
        self._wanted = threading.Event()
        self._done = threading.Event()
        self._shown: object = None
        self._lost = False
        self._thread = threading.Thread(target=self._run, name="watcher", daemon=True)
        self._thread.start()

    def request(self, look: ViewRequest) -> None:
        """Ask for a look."""
        self._look = look
        self._wanted.set()

    def close(self) -> None:
        """Look no more."""
        self._done.set()
        self._wanted.set()

    def _run(self) -> None:
        while True:
            self._wanted.wait()
            self._wanted.clear()
            if self._done.is_set():
                return
            self._take()

    def _take(self) -> None:
        try:
            snapshot = self._connection.take(self._look)
        except PacError as error:
            # If it is gone, that says more.
            code = self._connection.exit_code()
            self._lose(error if code is None else _gone(code))
            self._done.wait(PATIENCE)
            return
        except Exception as error:  # what nobody foresaw must not end with a screen that stands still
            self._lose(SessionGone(f"its telemetry cannot be read: {type(error).__name__}: {error}"))
            self._done.wait(PATIENCE)
            return
        if snapshot is not self._shown:
            self._shown = snapshot
            self._post(SnapshotTaken(snapshot))
        code = self._connection.exit_code()
        if code is not None and not snapshot.phase.over:
            self._lose(_gone(code))

    def _lose(self, error: PacError) -> None:
        if not self._lost:
            self._lost = True
            self._post(SessionLost(error))


def _gone(code: int) -> SessionGone:
    known = "" if code == UNKNOWN_EXIT_CODE else f" ({ending(code)})"
    return SessionGone(f"the session's process ended without a word{known}")


class CommandThread:
    """Sends commands, one after the other; a refusal comes back as a message."""

    def __init__(self, connection: SessionConnection, post: Post) -> None:
        self._connection = connection
        self._post = post
        self._queue: queue.SimpleQueue[tuple[str, dict[str, Any]] | None] = queue.SimpleQueue()
        threading.Thread(target=self._run, name="commander", daemon=True).start()

    def send(self, command: str, **arguments: Any) -> None:
        """Send a command some time soon."""
        self._queue.put((command, arguments))

    def close(self) -> None:
        """Send no more."""
        self._queue.put(None)

    def _run(self) -> None:
        while (item := self._queue.get()) is not None:
            command, arguments = item
            try:
                self._connection.call(command, **arguments)
            except PacError as error:
                self._post(Refused(command, error))
