"""Runs `pac-tui` as a user does: in its own process, with pipes or with a terminal."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

from ..folders import runtime
from ..waiting import until

QUICK = ("--task", "CartPole-v1", "--trainer", "random", "--backend", "inline", "--num-envs", "2")
"""A session that starts within a second, without compilation and PyTorch."""
LIMIT = 90.0
SIZE = (100, 30)
APP = (sys.executable, "-m", "pac.tui")
CONTROLLED = (sys.executable, "-ISc", "import os, sys; os.login_tty(0); os.execv(sys.argv[1], sys.argv[1:])")
"""Starts the program after it as a shell does: in a session whose controlling terminal is its stdin."""


def environment(folder: Path, **more: str) -> dict[str, str]:
    """Return environment variables with the runtime directory `folder`."""
    return {**os.environ, "PAC_RUNTIME_DIR": str(folder), **more}


def start(arguments: tuple[str, ...], folder: Path, cwd: Path) -> subprocess.Popen[str]:
    """Start `pac-tui` on pipes."""
    return subprocess.Popen(
        [*APP, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(folder),
        cwd=cwd,
    )


def users(folder: Path) -> Iterator[psutil.Process]:
    """Yield the processes that use a runtime directory."""
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get("PAC_RUNTIME_DIR") == str(folder) and process.pid != os.getpid():
                yield process


def left(folder: Path) -> list[str]:
    """Return the files in a runtime directory and the processes that use it."""
    found = [str(path) for path in folder.glob("pac-*/*")]
    for process in users(folder):
        with contextlib.suppress(psutil.Error):
            found.append(f"{process.pid} {' '.join(process.cmdline())}")
    return found


def kill_all(folder: Path) -> None:
    """Kill the processes that use a runtime directory."""
    for process in users(folder):
        with contextlib.suppress(psutil.Error):
            process.kill()


@contextlib.contextmanager
def tidy() -> Iterator[Path]:
    """Yield a runtime directory; at the end it must be empty, and no process may use it. Any that does is killed."""
    with runtime() as folder:
        yield folder
        try:
            until(lambda: not left(folder), f"all gone, but {left(folder)} is left")
        finally:
            kill_all(folder)


class Terminal:
    """A command on its own terminal, whose output is read all the time.

    Args:
        arguments: Those of the command.
        folder: Its runtime directory.
        cwd: Its working directory.
        program: What is started, instead of `pac-tui`.
        controlling: Whether the terminal controls it: it gets a signal when the terminal is resized or closed.
        more: Variables of its environment.

    Attributes:
        process: The command.
        drawn: The bytes that it has written.
        attributes_before: The terminal's attributes before the command started.
    """

    def __init__(
        self,
        arguments: tuple[str, ...],
        folder: Path,
        cwd: Path,
        *,
        program: tuple[str, ...] = APP,
        controlling: bool = False,
        **more: str,
    ) -> None:
        self._ours, self._theirs = pty.openpty()
        self.attributes_before = self.attributes
        self.drawn = b""
        self.resize(*SIZE)
        self._gone = False
        self.process = subprocess.Popen(
            [*(CONTROLLED if controlling else ()), *program, *arguments],
            stdin=self._theirs,
            stdout=self._theirs,
            stderr=self._theirs,
            env=environment(folder, **{"TERM": "xterm-256color", **more}),
            cwd=cwd,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        with contextlib.suppress(OSError):
            while not self._gone:
                if select.select([self._ours], [], [], 0.1)[0]:
                    self.drawn += os.read(self._ours, 1 << 16)

    def has_drawn(self, text: str) -> bool:
        """Return whether a text was drawn in one piece."""
        return text.encode() in self.drawn

    def resize(self, columns: int, lines: int) -> None:
        """Change the size of the terminal."""
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def press(self, keys: str) -> None:
        """Type."""
        os.write(self._ours, keys.encode())

    def end(self) -> int:
        """Wait until the command has ended and all of its output was read; return its exit code."""
        until(lambda: self.process.poll() is not None, "the end")
        os.write(self._theirs, b"\0")
        until(lambda: self.drawn.endswith(b"\0"), "the last output")
        return int(self.process.returncode)

    @property
    def attributes(self) -> list[Any]:
        """The terminal's attributes, from termios."""
        return termios.tcgetattr(self._theirs)

    @property
    def echoes(self) -> bool:
        """Whether the terminal echoes and reads lines, as a shell needs it."""
        modes = self.attributes[3]
        return bool(modes & termios.ECHO and modes & termios.ICANON)

    def hang_up(self) -> None:
        """Close the terminal. There is no signal, unless it is a controlling terminal."""
        self._gone = True
        self._reader.join()  # it would read from the next terminal, which gets the same number
        os.close(self._theirs)
        os.close(self._ours)

    def close(self) -> None:
        """End the command and close the terminal."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        if not self._gone:
            self.hang_up()
