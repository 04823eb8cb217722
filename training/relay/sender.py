"""`pac-tui relay RUN`: sends the telemetry of one session to stdout, and reads commands for it from stdin."""

from __future__ import annotations

import json
import os
import threading
import time
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

import numpy as np

from ...backends.system.segment import is_owned
from ...envs import PacError
from ...envs.entries import FolderEntry
from ...envs.files import open_binary, parse_json
from ..runs.sessions import FoundSession, ranks_of
from ..session.control import CommandRefused, SessionClient, refusal_of
from ..telemetry.blocks import TelemetryReader
from .messages import MAX_MESSAGE, Bytes, Hello, Kind, Message, changes, read_message, versions, write_message

PERIOD, TICK = 0.1, 0.01
"""Seconds between two messages with changes; the same for `SOON` seconds after a command."""
SOON = 0.3
CHECK_PERIOD = 0.5
"""Seconds between two checks of the log and of whether the session is running."""
MOST_BYTES = 125_000 / 4
"""Bytes per second on average: a quarter of the 1 Mbit/s that a viewer may use."""
KEEP_ALIVE = 5.0
"""Seconds without a change after which an empty message is sent, as a sign of life."""
LOG_BYTES = 65_536
"""Maximum bytes of the log that are sent at once, and at the start."""


class Relay:
    """Sends what one session publishes.

    Args:
        output: Where messages go.
    """

    def __init__(self, found: FoundSession, output: IO[bytes]) -> None:
        self._found, self._output = found, output
        self._reader = TelemetryReader(found.directory)
        self._client = SessionClient(found.directory)
        self._lock = threading.Lock()
        self._sent: dict[int, Bytes] = {}
        self._versions: list[int] = []
        self._generation = 0
        self._log_at: int | None = None
        self._hurry = self._sent_at = 0.0
        self._gone, self._woken = threading.Event(), threading.Event()

    def hello(self) -> None:
        """Send the versions and the name of the session."""
        about = self._reader.description
        ranks = tuple((one.rank, one.pid) for one in ranks_of(self._found))
        self._send(Kind.HELLO, asdict(Hello(**versions(), run=about.run, pid=self._found.pid, ranks=ranks)))

    def run(self) -> None:
        """Send changes until the session ends or the other side disconnects."""
        allowed, checked, last = 0.0, 0.0, time.monotonic()
        while not self._gone.is_set():
            now = time.monotonic()
            allowed = min(MOST_BYTES, allowed + (now - last) * MOST_BYTES)
            last = now
            if allowed > 0 or now < self._hurry:
                allowed -= self._send_changes()
            if now - checked > CHECK_PERIOD:
                checked = now
                if not is_owned(self._found.directory):
                    self._send_changes()
                    while self._send_log():
                        pass
                    self._send_raw(Kind.END, b"")
                    return
                self._send_log()
                if now - self._sent_at > KEEP_ALIVE:
                    self._send_raw(Kind.CHANGES, b"")
            self._pause()

    def answer_commands(self, source: IO[bytes]) -> None:
        """Pass commands on until the other side closes the stream."""
        with suppress(OSError, PacError, ValueError, TypeError, KeyError):
            while (message := read_message(source)) is not None:
                self._answer(message)
        self._gone.set()
        self._woken.set()

    def _answer(self, message: Message) -> None:
        asked = parse_json(message.data)
        try:
            answer = {"ok": True, **self._client.call(**asked["request"])}
        except CommandRefused as error:
            answer = refusal_of(error)
        self._hurry = time.monotonic() + SOON
        self._woken.set()
        self._send(Kind.ANSWER, {"number": asked["number"], "answer": answer})

    def _pause(self) -> None:
        hurried = time.monotonic() < self._hurry
        if self._woken.wait(TICK if hurried else PERIOD):
            self._woken.clear()

    def _send_changes(self) -> int:
        """Send the changes since the last message; return the number of bytes."""
        reader, used = self._reader, 0
        reader.follow()
        if reader.generation != self._generation:
            self._generation = reader.generation
            self._sent = {}
            self._versions = [-1] * len(reader.names)
            used += self._send(Kind.HEADER, reader.header)
        parts: list[bytes] = []
        for number, name in enumerate(reader.names):
            if (found := reader.version(name)) == self._versions[number]:
                continue
            self._versions[number] = found
            now = reader.copy(name).reshape(-1).view(np.uint8)
            parts += changes(number, self._sent.get(number, np.zeros_like(now)), now)
            self._sent[number] = now
            if sum(map(len, parts)) > MAX_MESSAGE // 4:
                used += self._send_raw(Kind.CHANGES, b"".join(parts))
                parts = []
        return used + (self._send_raw(Kind.CHANGES, b"".join(parts)) if parts else 0)

    def _send_log(self) -> bool:
        """Send the next part of the log; return whether there was one."""
        folder = self._reader.description.folder
        if not folder:
            return False
        try:
            file = open_binary(FolderEntry(Path(folder), "session.log"))
        except OSError:
            return False
        with file:
            size = file.seek(0, os.SEEK_END)
            at = self._log_at if self._log_at is not None and self._log_at <= size else max(0, size - LOG_BYTES)
            if size == at:
                self._log_at = at
                return False
            file.seek(at)
            data = file.read(LOG_BYTES)
        self._log_at = at + len(data)
        self._send_raw(Kind.LOG, data)
        return True

    def _send(self, kind: Kind, data: Any) -> int:
        return self._send_raw(kind, json.dumps(data).encode())

    def _send_raw(self, kind: Kind, data: bytes) -> int:
        with self._lock:
            self._sent_at = time.monotonic()
            return write_message(self._output, kind, data)
