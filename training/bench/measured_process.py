"""A process that measures on request and is stopped by SIGSTOP in between, so that it cannot disturb others.

A request is a line on its standard input. An answer is a JSON object on one line. The first answer reports that the
process is ready, or why the library is not available.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from ...envs import PacError

CORES = 2
LIMIT = 120.0
"""Seconds in which a process must start or answer."""
GUARD = ("/bin/sh", "-c", 'read _; kill -s KILL -- "-$0"')
"""Kills a group of processes, stopped ones too, when the other end of its standard input is closed."""


class MeasurementFailed(PacError):
    """The program that should be measured failed or did not answer."""

    title = "Measurement failed"


class NotInstalled(PacError):
    """The library to measure is not installed."""

    title = "Peer not installed"


class MeasuredProcess:
    """A process that runs only while it measures.

    Args:
        command: The command line.
        limit: Seconds in which it must start or answer.

    Attributes:
        pid: Its process id.
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

    def measure(self, *request: object) -> dict[str, Any]:
        """Send a request, and return the answer."""
        assert self._process.stdin is not None
        self._signal(signal.SIGCONT)
        self._process.stdin.write(" ".join(map(str, request)) + "\n")
        self._process.stdin.flush()
        answer = self._answer()
        self._signal(signal.SIGSTOP)
        return answer

    def close(self) -> None:
        """Kill the process and its children."""
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
            raise MeasurementFailed(f"{self.name} did not answer within {self._limit:.0f} s")
        line = self._process.stdout.readline()
        if not line:
            raise MeasurementFailed(f"{self.name} ended: {last_line(self._log.read_text())}")
        answer: dict[str, Any] = json.loads(line)
        if "absent" in answer:
            raise NotInstalled(answer["absent"])
        return answer


def results_of(function: Callable[..., Any], *arguments: object, limit: float) -> Any:
    """Call a function in a process of its own, with arguments that JSON can contain, and return its result.

    Raises:
        MeasurementFailed: It failed; the message is the last line of its errors.
    """
    place = function.__module__, function.__qualname__
    command = [sys.executable, "-P", "-m", __name__, *place, json.dumps(arguments)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=limit)
    if done.returncode:
        status = f"status {done.returncode}: {last_line(done.stderr)}"
        raise MeasurementFailed(f"{'.'.join(place)} ended with {status}")
    return json.loads(done.stdout)


def last_line(output: str) -> str:
    return next(iter(output.strip().splitlines()[-1:]), "it printed nothing")


def measured_cores() -> list[int]:
    """Return the cores that measured processes run on: the first two that this process may use."""
    usable = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    return sorted(usable)[:CORES]


if __name__ == "__main__":
    module, name, given = sys.argv[1:]
    print(json.dumps(getattr(import_module(module), name)(*json.loads(given))))
