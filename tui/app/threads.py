"""The two threads beside the app's own: one takes snapshots, one sends commands. Neither touches a widget."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable
from typing import Any

from textual.message import Message

from ...backends.core.errors import ending
from ...envs import PacError
from ...training.runs.sessions import UNKNOWN_EXIT_CODE
from ...training.session.control import SessionGone
from ...training.telemetry.snapshot import ViewRequest
from ..connections.connection import SessionConnection
from ..messages import PictureTaken, Refused, SessionLost, SnapshotTaken

Post = Callable[[Message], Any]
RETRY = 1.0  # s between two attempts to read a session that cannot be read


class SnapshotThread:
    """Takes a snapshot, or only a picture, when one is requested. Requests that arrive meanwhile become one.

    The app's thread sets what is wanted, then the event; this thread unsets both before it reads.
    """

    def __init__(self, connection: SessionConnection, post: Post) -> None:
        self._connection = connection
        self._post = post
        self._look, self._env = ViewRequest(), 0
        self._whole = False
        self._wanted = threading.Event()
        self._done = threading.Event()
        self._shown: object = None
        self._selected = 0
        self._members: object = ()
        self._lost = False
        self._thread = threading.Thread(target=self._run, name="watcher", daemon=True)
        self._thread.start()

    def request(self, look: ViewRequest) -> None:
        """Request a snapshot."""
        self._look, self._whole = look, True
        self._wanted.set()

    def request_picture(self, env: int) -> None:
        """Request the picture of an environment in large, if there is a newer one."""
        self._env = env
        self._wanted.set()

    def close(self) -> None:
        """End the thread."""
        self._done.set()
        self._wanted.set()

    def _run(self) -> None:
        while True:
            self._wanted.wait()
            self._wanted.clear()
            if self._done.is_set():
                return
            if self._whole:
                self._whole = False
                self._take()
            else:
                self._take_picture(self._env)

    def _take_picture(self, env: int) -> None:
        selected = self._connection.selected
        with contextlib.suppress(PacError):  # the next snapshot says what is wrong
            pixels = self._connection.target.take_picture(env)
            if pixels is not None:
                self._post(PictureTaken(env, pixels, selected))

    def _take(self) -> None:
        try:
            with contextlib.suppress(PacError):
                self._connection.follow()
            connection, selected = self._connection.target, self._connection.selected
            if selected != self._selected:
                self._selected, self._lost = selected, False
            members = self._connection.members()
            code = connection.exit_code()  # before the snapshot, which then shows all that an ended process published
            snapshot = connection.take(self._look)
        except Exception as error:
            # The end of the process says more than the error.
            code = self._connection.target.exit_code()
            self._lose(foreseen(error) if code is None else _gone(code))
            self._done.wait(RETRY)
            return
        if snapshot is not self._shown or members is not self._members:
            self._shown, self._members = snapshot, members
            self._post(SnapshotTaken(snapshot, members, selected))
        if code is not None and not snapshot.phase.over:
            self._lose(_gone(code))

    def _lose(self, error: PacError) -> None:
        if not self._lost:
            self._lost = True
            self._post(SessionLost(error, self._selected))


def foreseen(error: Exception) -> PacError:
    """Return an error for the user. One that nobody foresaw must not end a thread: no key would work any more."""
    if isinstance(error, PacError):
        return error
    return SessionGone(f"what came from it cannot be used: {type(error).__name__}: {error}")


def _gone(code: int) -> SessionGone:
    known = "" if code == UNKNOWN_EXIT_CODE else f" ({ending(code)})"
    return SessionGone(f"its process exited without reporting an error{known}")


class CommandThread:
    """Sends commands, one after the other. A refusal is posted as a message."""

    def __init__(self, connection: SessionConnection, post: Post) -> None:
        self._connection = connection
        self._post = post
        self._queue: queue.SimpleQueue[tuple[SessionConnection, str, dict[str, Any]] | None] = queue.SimpleQueue()
        threading.Thread(target=self._run, name="commander", daemon=True).start()

    def send(self, command: str, **arguments: Any) -> None:
        """Queue a command to the session that is selected now."""
        self._queue.put((self._connection.target, command, arguments))

    def close(self) -> None:
        """End the thread after the commands that are queued."""
        self._queue.put(None)

    def _run(self) -> None:
        while (item := self._queue.get()) is not None:
            connection, command, arguments = item
            try:
                connection.call(command, **arguments)
            except Exception as error:
                self._post(Refused(command, foreseen(error)))
