"""Runs commands of the user's when findings begin and when the session ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable, Mapping
from contextlib import suppress
from queue import Queue
from threading import Thread
from typing import Any

from ..json_data import jsonable
from ..telemetry.events import EventLog
from ..telemetry.findings import Finding
from ..telemetry.records import Level, Severity

LIMIT = 60.0
"""Seconds that a command may take."""
MOST_WAITING = 100
"""Findings that wait for their command; more are left out."""
SHOWN = 200  # characters of what a failed command has printed


class UserCommands:
    """Runs the commands one after the other, in a thread of its own: the training does not wait for them.

    Args:
        events: Where a command that failed is reported.
        on_finding: Runs for each warning and fault that begins; None without one.
        on_end: Runs when the session ends; None without one.
    """

    def __init__(self, events: EventLog, on_finding: str | None, on_end: str | None) -> None:
        self._events, self._on_finding, self._on_end = events, on_finding, on_end
        # The training thread puts, the commands' thread takes; None ends it.
        self._queue: Queue[tuple[str, bytes] | None] = Queue()
        self._thread: Thread | None = None

    def found(self, finding: Finding, facts: Mapping[str, Any]) -> None:
        """Run the command for a finding, with the finding and some facts about the run as JSON on its stdin."""
        if self._on_finding and finding.severity > Severity.NOTE and self._queue.qsize() < MOST_WAITING:
            self._put(self._on_finding, {**facts, **finding.as_json()})

    def end(self, facts: Mapping[str, Any], waiting: Callable[[], None]) -> None:
        """Run the command for the end with facts as JSON on its stdin, and wait for all that still run.

        Args:
            facts: What the command gets.
            waiting: Called every second meanwhile.
        """
        if self._on_end:
            self._put(self._on_end, facts)
        if self._thread is not None:
            self._queue.put(None)
            while self._thread.is_alive():
                waiting()
                self._thread.join(1.0)

    def _put(self, command: str, facts: Mapping[str, Any]) -> None:
        self._queue.put((command, json.dumps(jsonable(dict(facts))).encode()))
        if self._thread is None:
            self._thread = Thread(target=self._run, name="user commands", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while (item := self._queue.get()) is not None:
            try:
                failure = _failure(*item)
            except OSError as error:
                failure = str(error)
            if failure:
                self._events.add(Level.WARNING, f"the command {item[0]!r} {failure}")


def _failure(command: str, given: bytes) -> str:
    """Run a command; return how it failed, or an empty text."""
    process = subprocess.Popen(
        ["/bin/sh", "-c", command],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,  # so that Ctrl-C in the terminal does not end it, and all of it can be ended
    )
    try:
        _, said = process.communicate(given, LIMIT)
    except subprocess.TimeoutExpired:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return f"was ended, because it took more than {LIMIT:.0f} s"
    text = said.decode(errors="replace").strip()[:SHOWN]
    return f"failed with code {process.returncode}{f': {text}' if text else ''}" if process.returncode else ""
