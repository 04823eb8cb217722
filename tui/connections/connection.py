"""The connection to a session: starts it, reads its telemetry, sends commands, and knows when it has ended."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, TypeAlias

from ...envs import PacError
from ...envs.fields import Array
from ...envs.task import LARGE, LARGE_OF
from ...training.session.control import TIMEOUT, SessionClient, SessionGone
from ...training.session.host import RunningSession, Starting
from ...training.stacks import stacks_of
from ...training.telemetry.blocks import TelemetryReader
from ...training.telemetry.snapshot import Snapshot, ViewRequest, take_snapshot

Origin: TypeAlias = Literal["process", "thread", "script", "elsewhere"]
START_LIMIT = 30.0
STOP_LIMIT = 600.0  # s: a session that does not respond ends itself before that


class SessionConnection:
    """Connects the app to a session's process, telemetry and socket.

    The session starts in a thread, so that the screen appears at once.

    Args:
        origin: Whether the app runs the session in a process, in a thread or as a script, or has found it running
            elsewhere.
        starting: What the session does before it is ready.

    Attributes:
        number: This viewer's number among the viewers of the session; 0 before it has joined.
        detached: Whether the session continues when the app ends.
        selected: The index of the session among several, see `SessionGroup`, or among those of a script that
            replace each other.
        leaves_at_end: Whether the app leaves when what it shows has ended, instead of at a key.
    """

    selected = 0
    leaves_at_end = True

    def __init__(
        self, start: Callable[[], RunningSession], origin: Origin = "process", starting: Starting | None = None
    ) -> None:
        self.origin = origin
        self.starting = starting or Starting()
        self.number = 0
        self.detached = False
        self._start = start
        self._session: RunningSession | None = None
        self._error: PacError | None = None
        self._reader: TelemetryReader | None = None
        self._client: SessionClient | None = None
        self._joining = threading.Lock()
        self._closed = False
        self._last: tuple[ViewRequest, float, Snapshot] | None = None
        self._pictured: tuple[int, int] | None = None
        self._ready = threading.Event()
        threading.Thread(target=self._open, name="opening", daemon=True).start()

    def _open(self) -> None:
        try:
            self._session = self._start()
        except PacError as error:
            self._error = error
        except Exception as error:
            self._error = SessionGone(f"{type(error).__name__}: {error}")
        finally:
            self._ready.set()

    @property
    def directory(self) -> Path | None:
        """The session's folder; None until it is known."""
        return self._session.directory if self._session is not None else None

    def wait(self) -> RunningSession:
        """Wait until the session has started; return it.

        Raises:
            PacError: It could not start.
        """
        while not self._ready.wait(START_LIMIT):
            if self.starting.alive:  # it has a limit of its own, and says what it does
                continue
            raise SessionGone(f"the session did not start within {START_LIMIT:.0f} s: is the machine out of memory?")
        if self._error is not None:
            raise self._error
        assert self._session is not None
        return self._session

    def take(self, look: ViewRequest) -> Snapshot:
        """Return a snapshot of the session; the same object as before if nothing was published since.

        Raises:
            PacError: The session could not start, or its telemetry is unreadable.
        """
        if self._reader is None:
            self._reader = TelemetryReader(self.wait().directory)
        self._reader.follow()
        now = float(self._reader.read("state")["now"]) + float(self._reader.read("system")["pulse"])
        if self._last is not None and self._last[:2] == (look, now):
            return self._last[2]
        snapshot = take_snapshot(self._reader, look, self._last[2] if self._last is not None else None)
        self._last = look, now, snapshot
        return snapshot

    def take_picture(self, env: int) -> Array | None:
        """Return the picture of an environment in large, if the session has drawn one since the last call."""
        reader, seen = self._reader, self._pictured
        if reader is None or reader.description.large is None:
            return None
        self._pictured = reader.generation, reader.version(LARGE)
        found = self._pictured != seen and int(reader.read(LARGE_OF)) == env + 1
        return reader.read(LARGE) if found else None

    def call(self, command: str, **arguments: Any) -> dict[str, Any]:
        """Send a command and return its answer.

        Raises:
            PacError: It was refused, or the session does not answer.
        """
        session = self.wait()
        with self._joining:  # commands come from several threads, of which one joins
            if self._client is None:
                self._join(SessionClient(self._reader.directory if self._reader is not None else session.directory))
            client = self._client
        assert client is not None
        return client.call(command, **arguments)

    def own_client(self, timeout: float = TIMEOUT) -> SessionClient:
        """Return another connection to the session, for commands that take long: no other waits for their answers.

        Args:
            timeout: Seconds within which it answers.

        Raises:
            PacError: The session could not start, or does not answer.
        """
        directory = self.wait().directory
        return SessionClient(self._reader.directory if self._reader is not None else directory, timeout)

    def stacks(self) -> dict[str, Any]:
        """Return the stacks of all threads, also if the session does not answer."""
        directory = self.wait().directory
        return stacks_of(self._reader.directory if self._reader is not None else directory)

    def follow(self) -> None:
        """Turn to the session that is to be shown now, if it is another."""

    def turn_to(self, pid: int | None, name: str) -> bool:  # noqa: ARG002 - a script may have several sessions
        """Show another session of what the app runs; return whether that has such a session."""
        return False

    def script_end(self) -> str:
        """Return how the script has ended that this program runs; an empty text while it runs, or without one."""
        return ""

    def advice(self) -> str:
        """Return what the user of the script should know, if anything."""
        return ""

    def _join(self, client: SessionClient) -> None:
        """Join the session's viewers, unless the app has left in the meantime."""
        # `close` sets `_closed` before it looks for a client, so that one of the two closes this one. It takes no lock:
        # a session may never answer.
        self._client = client
        if self._closed:
            client.close()
            raise SessionGone("this viewer has left")
        try:
            self.number = int(client.call("join", name=viewer_name())["number"])
        except PacError:
            self._client = None
            client.close()
            raise

    def members(self) -> tuple[Any, ...]:
        """Return the sessions of a group; nothing for a single session."""
        return ()

    @property
    def target(self) -> SessionConnection:
        """The connection to the selected session."""
        return self

    @property
    def failed(self) -> bool:
        """Whether the session could not start."""
        return self._error is not None

    @property
    def ended(self) -> bool:
        """Whether what was started has ended."""
        return self.exit_code() is not None

    @property
    def owned(self) -> bool:
        """Whether the session ends with the app."""
        return self.origin != "elsewhere" and not self.detached

    @property
    def started(self) -> bool:
        """Whether a session was started."""
        return self._session is not None

    def exit_code(self) -> int | None:
        """Return the exit code of a session that has ended; None while it starts or runs."""
        return self._session.poll() if self._session is not None else None

    def kill(self) -> None:
        """End the session at once, without saving."""
        if self._session is not None:
            self._session.kill()
        else:
            self.starting.kill()

    def stop_start(self) -> bool:
        """End a session that is being started; return whether it is."""
        if self._ready.is_set() or not self.starting.alive:
            return False
        self.starting.terminate()
        return True

    def terminate(self) -> None:
        """Have the session save and end, by a signal, which also works without its socket."""
        self.stop_start()
        if self._ready.wait(START_LIMIT) and self._session is not None:
            self._session.terminate()

    def close(self) -> None:
        """Close the connection, which the session notices."""
        self._closed = True
        if self._client is not None:
            self._client.close()

    def report(self) -> dict[str, Any]:
        """Wait for the end of the session; return its report.

        Raises:
            PacError: It could not start, or has failed.
        """
        return self.wait().report()


def viewer_name() -> str:
    """Return the name that other viewers see: the terminal and the process."""
    try:
        terminal = os.ttyname(1).removeprefix("/dev/")
    except OSError:
        terminal = "a viewer"
    return f"{terminal} (process {os.getpid()})"
