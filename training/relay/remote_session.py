"""A session on another machine, as the app uses it: telemetry is mirrored here, and commands go to the relay."""

from __future__ import annotations

import json
import queue
import shlex
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...backends.system.segment import new_directory, remove_directory
from ...envs import BadParameter, PacError
from ...envs.files import parse_json
from ...envs.printable import printable
from ..runs.sessions import UNKNOWN_EXIT_CODE, ForeignSession
from ..session.control import CommandRefused, ControlServer, accepted
from ..session.viewers import Viewers
from ..telemetry.records import Phase
from ..telemetry.segment_layout import MALFORMED, MappedSegment, blocks_of, create_segment, read_description
from .messages import BadRelay, Bytes, Hello, Kind, Message, apply_changes, read_message, write_message

MOST_BYTES = 256 << 20
"""Maximum bytes of telemetry of a remote session. 10,000 environments have about 60 MB."""
MOST_LOG = 4 << 20
MOST_RANKS = 64
"""Maximum number of processes of one training that are shown per machine."""
LOG = "session.log"


class Mirror:
    """The copy of a session's telemetry and log.

    Data from the other side only becomes numbers and text in blocks of known size. Paths in it are not used.

    Args:
        directory: The directory for the telemetry.
        folder: The folder for the log, in place of the run's folder.
    """

    def __init__(self, directory: Path, folder: Path) -> None:
        self.directory, self._folder = directory, folder
        self._mapped: MappedSegment | None = None
        self._bytes: list[Bytes] = []
        self._names: list[str] = []
        self._generation = 0

    def open(self, data: bytes) -> None:
        """Begin a new segment with the header that was sent.

        Raises:
            BadRelay: It is not a header, or the telemetry is too large.
        """
        try:
            about, num_envs = read_description(parse_json(data, finite=False))
            if sum(block.nbytes for block in blocks_of(about, num_envs)) > MOST_BYTES:
                raise ValueError(f"its blocks have more than {MOST_BYTES >> 20} MiB")
            self._generation += 1  # its own: a reconnection begins a new segment, too
            about = replace(about, folder=str(self._folder))
            mapped = create_segment(about, num_envs, self._generation, self.directory)
        except (PacError, *MALFORMED) as error:
            raise BadRelay(f"the telemetry of the other side cannot be used: {error}") from error
        before, self._mapped = self._mapped, mapped
        self._names = [*mapped.arrays]
        self._bytes = [array.reshape(-1).view("u1") for array in mapped.arrays.values()]
        if before is not None:
            before.hand_over(self._generation)

    def apply(self, data: bytes) -> None:
        """Write what has changed.

        Raises:
            BadRelay: It does not fit the header.
        """
        if self._mapped is None:
            raise BadRelay("changes came before a header")
        with self._mapped.write(*self._names):  # a change of one block belongs to those of others
            apply_changes(data, self._bytes)

    def log(self, data: bytes) -> None:
        """Append to the log, up to a limit."""
        path = self._folder / LOG
        if not path.exists() or path.stat().st_size < MOST_LOG:
            with path.open("ab") as file:
                file.write(data)

    def say(self, phase: Phase, message: str) -> None:
        """Show a message instead of the session's."""
        if self._mapped is not None:
            with self._mapped.write("state") as state:
                state["phase"], state["message"] = phase, message.encode()[:100]
                state["now"] += 1e-3


START_LIMIT = 60.0
"""Maximum seconds until the first picture, including the time to type a password."""
ANSWER_LIMIT = 8.0
REPEATED = ("join", "look")
"""Commands that are sent again on a new connection: who the viewer is, and what it shows."""
WITH_FILES = frozenset({"keep_episode", "keep_past"})
"""Commands whose answer names a file on the other machine, which is never opened here."""
WITH_PATHS = frozenset({"save_state"})
"""Commands whose answer only names files on the other machine. The answer gets the name of that machine."""
RETRIES = (1.0, 2.0, 4.0, 8.0, 15.0, 30.0)
"""Seconds between attempts to reconnect; the last value is repeated."""
CLOSE_LIMIT = 3.0
SILENCE = 20.0
"""Seconds without a message after which a connection counts as broken. A relay sends one every few seconds."""
TAIL = 300
DEFAULT_RSH, DEFAULT_COMMAND = "ssh", "pac-tui"


def relay_command(host: str, run: str, *, rsh: str = DEFAULT_RSH, command: str = DEFAULT_COMMAND) -> list[str]:
    """Return the command that starts a relay on a host, such as `ssh HOST pac-tui relay RUN`.

    Args:
        host: The name of the machine for `rsh`.
        rsh: The command that runs a program on a host, with its options.
        command: The command `pac-tui` on the host.

    Raises:
        BadParameter: The host or the run would be an option of one of these commands.
    """
    if option := next((name for name in (host, run) if name.startswith("-")), None):
        raise BadParameter(f"HOST:RUN names a machine and a run, and {option!r} is an option; give options with --rsh")
    return [*shlex.split(rsh), host, *shlex.split(command), "relay", shlex.quote(run)]


class RelayFailed(PacError):
    """The other machine cannot be reached, or has no such session."""

    title = "No connection"


class RemoteSession(ForeignSession):
    """A session that a relay shows. It reconnects after a broken connection, until the session ends.

    Args:
        host: Its machine, for messages.
        command: Starts a relay, whose stdin and stdout are connected to this side.

    Attributes:
        directory: The directory of the mirrored telemetry and of the socket for commands.
        pid: The session's process on its machine.
        name: The name of its run.
        ranks: The numbers and processes of the ranks of its training on that machine.
    """

    def __init__(self, host: str, command: Sequence[str]) -> None:
        self.host, self._command = host, list(command)
        self.directory = new_directory() / "remote"  # not among this machine's sessions
        self.directory.mkdir(mode=0o700)
        self._files = tempfile.TemporaryDirectory(prefix="pac-remote-")
        self._mirror = Mirror(self.directory, Path(self._files.name))
        self._answers: queue.Queue[Mapping[str, Any]] = queue.Queue()
        self._number = 0  # of the last command
        self._repeated: dict[str, Mapping[str, Any]] = {}
        self._calling, self._shown, self._closed = threading.Lock(), threading.Event(), threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._error: PacError | None = None
        self._over = False
        self._heard = 0.0  # when the last message came
        self.pid, self.name = 0, ""
        self.ranks: Sequence[tuple[int, int]] = ()
        self._server: ControlServer | None = None
        self._thread = threading.Thread(target=self._run, name="relay", daemon=True)

    def start(self) -> None:
        """Connect, and return as soon as there is something to show.

        Raises:
            PacError: The machine cannot be reached, has another version or no such session.
        """
        self._thread.start()
        if not self._shown.wait(START_LIMIT):
            self._error = self._error or RelayFailed(f"{self.host} did not answer within {START_LIMIT:.0f} s")
        if self._error is not None:
            self.close()
            raise self._error
        self._server = ControlServer(
            self.directory, lambda _viewer, request: self._call(request), Viewers(float("inf"))
        )

    def close(self) -> None:
        """End the connection; the session continues."""
        self._closed.set()
        if self._server is not None:
            self._server.close()
        process = self._process
        if process is not None and process.stdin is not None:
            with suppress(OSError):
                process.stdin.close()  # the relay ends then, and with it what the transport has started
            with suppress(subprocess.TimeoutExpired):
                process.wait(CLOSE_LIMIT)
            process.kill()
        if self._thread.is_alive():
            self._thread.join(2.0)
        remove_directory(self.directory.parent)
        self._files.cleanup()

    # -- what the app uses --------------------------------------------------------------------------------------------

    def poll(self) -> int | None:
        """Return None while the session is running, as far as is known, then `UNKNOWN_EXIT_CODE`."""
        return UNKNOWN_EXIT_CODE if self._over else None

    # -- commands -----------------------------------------------------------------------------------------------------

    def _call(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """Pass a command to the relay and return the answer.

        Raises:
            CommandRefused: The session refuses it, its answer is a file, or there is no connection.
        """
        command = str(request["command"])
        if command in WITH_FILES:
            raise CommandRefused(f"the file would be on {self.host}; replay episodes there")
        if command == "allocations":  # it takes longer than a relay waits
            raise CommandRefused(f"allocations are followed on {self.host}: pac-tui memory RUN --lines there")
        with self._calling:
            answer = self._asked(request)
            if answer is None:
                raise CommandRefused(f"there is no connection to {self.host} now; try again when it is back")
            if command in REPEATED:
                self._repeated[command] = dict(request)
        return {**accepted(answer), "host": self.host} if command in WITH_PATHS else accepted(answer)

    def _asked(self, request: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the answer to a command; None if there is no connection, or no answer."""
        process = self._process
        if process is None:
            return None
        self._number += 1
        end = time.monotonic() + ANSWER_LIMIT
        with suppress(OSError, ValueError, queue.Empty):
            _send(process, self._number, request)
            while True:
                found = self._answers.get(timeout=max(0.0, end - time.monotonic()))
                if found.get("number") == self._number and isinstance(found.get("answer"), dict):
                    return dict(found["answer"])
        return None

    # -- the thread of the connection ---------------------------------------------------------------------------------

    def _run(self) -> None:
        failures = 0
        while not self._closed.is_set() and not self._over:
            try:
                self._connect_and_read()
                failures = 0 if self._shown.is_set() else failures
            except PacError as error:
                self._error = self._error or error
            except Exception as error:  # whatever came, the connection is made again
                self._error = self._error or RelayFailed(f"{self.host}: {error}")
            if not self._shown.is_set() or self._over:
                self._shown.set()
                return
            wait = RETRIES[min(failures, len(RETRIES) - 1)]
            self._mirror.say(Phase.DISCONNECTED, f"no connection to {self.host}; trying again in {wait:.0f} s")
            failures += 1
            self._closed.wait(wait)

    def _connect_and_read(self) -> None:
        with tempfile.TemporaryFile() as errors:
            process = self._process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors
            )
            assert process.stdin is not None
            assert process.stdout is not None
            try:
                first = read_message(process.stdout)
                if first is None:
                    process.wait()
                    errors.seek(0)
                    lines = errors.read()[-TAIL:].decode(errors="replace").splitlines()
                    said = "; ".join(printable(line.strip()) for line in lines if line.strip())
                    raise RelayFailed(f"{self.host}: {said or f'the relay ended with code {process.returncode}'}")
                if first.kind is not Kind.HELLO:
                    raise BadRelay("the other side is not a relay of pac-tui")
                about = Hello.read(first.data)
                self.pid, self.name, self.ranks = about.pid, printable(about.run), about.ranks[:MOST_RANKS]
                threading.Thread(target=self._end_silence, args=(process,), daemon=True).start()
                for request in list(self._repeated.values()):
                    _send(process, 0, request)
                while (message := read_message(process.stdout)) is not None:
                    self._take(message)
            finally:
                self._process = None
                process.kill()
                process.wait()
                for stream in (process.stdin, process.stdout):
                    with suppress(OSError):
                        stream.close()

    def _end_silence(self, process: subprocess.Popen[bytes]) -> None:
        """Close a connection without messages, for example after the network was lost or the machine has slept."""
        self._heard = time.monotonic()
        while process.poll() is None and not self._closed.wait(1.0):
            if time.monotonic() - self._heard > SILENCE:
                process.kill()

    def _take(self, message: Message) -> None:
        self._heard = time.monotonic()
        if message.kind is Kind.HEADER:
            self._mirror.open(message.data)
        elif message.kind is Kind.CHANGES:
            self._mirror.apply(message.data)
            self._error = None
            self._shown.set()
        elif message.kind is Kind.ANSWER:
            answer = parse_json(message.data, finite=False)
            if isinstance(answer, dict):
                self._answers.put(answer)
        elif message.kind is Kind.LOG:
            self._mirror.log(message.data)
        elif message.kind is Kind.END:
            self._over = True


def _send(process: subprocess.Popen[bytes], number: int, request: Mapping[str, Any]) -> None:
    """Send a command to the relay that a process connects with."""
    assert process.stdin is not None
    write_message(process.stdin, Kind.COMMAND, json.dumps({"number": number, "request": request}).encode())
