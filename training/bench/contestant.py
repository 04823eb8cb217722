"""A contestant of a comparison: a process of its own that measures for as long as it is told to, and rests otherwise.

It is told what to measure by a line on its standard input, and answers with a JSON object in a line; the first one says
that it is ready, or absent and why.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...envs import PacError

CORES = 2
LIMIT = 120.0
"""Seconds that a contestant has to start, or to answer."""
GUARD = ("/bin/sh", "-c", 'read _; kill -s KILL -- "-$0"')
"""Ends a group of processes, stopped as they may be, when nobody holds the other end of its standard input any more."""


class PeerFailed(PacError):
    """A contestant did not answer."""

    title = "Measurement failed"


class Absent(PacError):
    """A contestant is not installed."""

    title = "Peer not installed"


class Contestant:
    """A process that stands still unless it measures.

    Args:
        name: What it is called.
        command: What to run.
        limit: Seconds that it has to start, or to answer.

    Attributes:
        name: Its name.
        pid: Its process.
    """

    def __init__(self, name: str, command: Sequence[str], limit: float = LIMIT) -> None:
        self.name, self._limit = name, limit
        self._folder = tempfile.TemporaryDirectory(prefix="pac-bench-")
        self._log = Path(self._folder.name, "log")
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                cwd=self._folder.name,  # importing PufferLib leaves a link in the working directory
                start_new_session=True,
            )
        self.pid = self._process.pid
        self._guard = subprocess.Popen(
            [*GUARD, str(self.pid)], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
        )
        try:
            self._answer()
            self._signal(signal.SIGSTOP)
        except BaseException:
            self.close()
            raise

    def measure(self, *told: object) -> dict[str, Any]:
        """Tell it what to measure, and return what it answers."""
        assert self._process.stdin is not None
        self._signal(signal.SIGCONT)
        self._process.stdin.write(" ".join(map(str, told)) + "\n")
        self._process.stdin.flush()
        answer = self._answer()
        self._signal(signal.SIGSTOP)
        return answer

    def close(self) -> None:
        """End it, and what it has started."""
        for stream in (self._guard.stdin, self._process.stdin, self._process.stdout):
            assert stream is not None
            stream.close()
        self._guard.wait()
        self._process.wait()
        self._folder.cleanup()

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], self._limit)
        if not ready:
            raise PeerFailed(f"{self.name} did not answer within {self._limit:.0f} s")
        line = self._process.stdout.readline()
        if not line:
            last = self._log.read_text().strip().splitlines()[-1:] or ["it said nothing"]
            raise PeerFailed(f"{self.name} ended: {last[0]}")
        answer: dict[str, Any] = json.loads(line)
        if "absent" in answer:
            raise Absent(answer["absent"])
        return answer


def first_cores() -> list[int]:
    """Return the cores that contestants keep to: the first two of those that this process may use."""
    usable = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    return sorted(usable)[:CORES]
