"""A script that `pac-tui watch` runs: its process, its output and its sessions."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..backends.system.segment import directories, own_directory
from ..training.runs.sessions import ConnectedSession, FoundSession, read_session
from ..training.watching.launching import Interpreter, watched_environment

OUTPUT = "session.log"


class ScriptProcess:
    """A script in a process of its own. Its stdout and stderr go to a file.

    Attributes:
        directory: The folder of the session that is shown, once there is one.
        pid: The process id.
        shown: The sessions that were shown already.
        detached: Whether it continues when this program ends.
    """

    def __init__(self, interpreter: Interpreter, arguments: Sequence[str]) -> None:
        self.directory = own_directory()
        self._path = self.directory / OUTPUT
        environment = watched_environment(interpreter, output=str(self._path), quiet=True)
        with self._path.open("wb", buffering=0) as output:
            self._process = subprocess.Popen(
                [interpreter.path, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=environment,
                start_new_session=True,
            )
        self.pid = self._process.pid
        self.shown: set[Path] = set()
        self.detached = False
        self._output = self._path.open("rb")

    def poll(self) -> int | None:
        """Return the exit code, or None while it runs."""
        return self._process.poll()

    def wait(self) -> int:
        """Wait for the end; return the exit code as a shell has it."""
        code = self._process.wait()
        return 128 - code if code < 0 else code

    def terminate(self) -> None:
        """Interrupt it, as Ctrl-C does."""
        self._signal(signal.SIGINT)

    def kill(self) -> None:
        """End it and its worker processes at once."""
        self._signal(signal.SIGKILL)

    def _signal(self, number: int) -> None:
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, number)

    def next_session(self) -> FoundSession | None:
        """Return a session that was not shown yet, one for training before others; None if there is none."""
        ours = [path for path, pid, alive in directories() if pid == self.pid and alive and path not in self.shown]
        found = [session for path in ours if (session := read_session(path, self.pid, alive=True)) is not None]
        live = [session for session in found if not session.snapshot.phase.over]
        return min(live, key=lambda session: (session.name.count("-eval"), len(session.name)), default=None)

    def copy_output(self) -> None:
        """Print what the script has printed since the last call."""
        if data := self._output.read():
            sys.stdout.buffer.write(data)
            sys.stdout.flush()

    def skip_output(self, lines: int) -> None:
        """Skip what the script has printed since the last call, except the last lines."""
        data = self._output.read()
        sys.stdout.buffer.write(b"".join(data.splitlines(keepends=True)[-lines:]))
        sys.stdout.flush()


class ScriptSession(ConnectedSession):
    """A session of a script that this program runs: the app that shows it ends with the script."""

    def __init__(self, found: FoundSession, script: ScriptProcess) -> None:
        super().__init__(found)
        self._script = script

    def poll(self) -> int | None:
        """Return the exit code of the script, or None while it runs and this session is open."""
        return self._script.poll() if super().poll() is None else super().poll()

    def terminate(self) -> None:
        """Interrupt the script, as Ctrl-C does."""
        self._script.terminate()

    def kill(self) -> None:
        """End the script at once."""
        self._script.kill()

    def report(self) -> dict[str, Any]:
        """A script has no report."""
        return {}
