"""The ranks of a training that the app has started, in a process that has torchrun start them."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

import psutil

from ...envs.printable import printable
from ...training.runs.sessions import ConnectedSession, FoundSession, sessions
from ...training.session.host import RunningSession, SessionFailed
from ..connections.session_group import GroupMember

POLL, LIMIT, TAIL = 0.1, 120.0, 2000
"""Seconds between two looks for a rank, and for which the end of all is waited for; characters of an error."""
DETACH = b"d"


class RanksProcess:
    """Starts ranks, and ends them with the app unless it detaches.

    Args:
        arguments: Those of `pac-tui` for each rank.
    """

    def __init__(self, ranks: int, arguments: Sequence[str]) -> None:
        self._ranks = ranks
        self._output, self._errors = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115 - until the end
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "pac.tui.cli.ranks", str(ranks), *arguments],
            stdin=subprocess.PIPE,
            stdout=self._output,
            stderr=self._errors,
            start_new_session=True,
        )
        self._found: dict[int, FoundSession] = {}

    def members(self) -> list[GroupMember]:
        """Return the ranks, whose sessions are found when they have started."""
        return [GroupMember(rank, f"rank {rank}", partial(self._session, rank)) for rank in range(self._ranks)]

    def _session(self, rank: int) -> RunningSession:
        """Wait for the session of a rank; return it.

        Raises:
            SessionFailed: The ranks have ended before.
        """
        while self._process.poll() is None:
            own = {process.pid for process in psutil.Process(self._process.pid).children(recursive=True)}
            for found in sessions():
                if found.alive and found.pid in own and found.snapshot.description.ranks == self._ranks:
                    self._found[found.rank] = found
            if rank in self._found:
                return ConnectedSession(self._found[rank])
            time.sleep(POLL)
        raise SessionFailed("Session failed", self._error())

    def ended(self, *, over: bool) -> bool:
        """Return whether all ranks have ended; if their sessions are `over`, wait for what follows."""
        if over:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(LIMIT)
        return self._process.poll() is not None

    def detach(self) -> None:
        """Let the ranks continue without the app."""
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.write(DETACH)
            self._process.stdin.flush()

    def terminate(self) -> None:
        """Have the ranks save and end."""
        self._process.terminate()

    def kill(self) -> None:
        """End all ranks at once, without saving."""
        with suppress(psutil.Error):
            for process in psutil.Process(self._process.pid).children(recursive=True):
                with suppress(psutil.Error):
                    process.kill()
        self._process.kill()
        self._process.wait()

    def report(self) -> str:
        """Wait for the end; return what rank 0 has printed about the run.

        Raises:
            SessionFailed: A rank has failed.
        """
        if self._process.wait():
            raise SessionFailed("Session failed", self._error())
        self._output.seek(0)
        return printable(self._output.read().decode(errors="replace")).strip()

    def _error(self) -> str:
        """Return the end of what the ranks have printed about errors."""
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip()[-TAIL:].splitlines()
        errors = [line for line in lines if line.startswith("pac-tui: ")] or lines[-10:]
        text = "\n".join(line.removeprefix("pac-tui: ") for line in errors)
        return text or f"the ranks ended with code {self._process.returncode}"
