"""A script that `pac-tui watch` runs: its process and its output. Only the user ends it."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from ...backends.core.errors import ending
from ...backends.system.segment import human_bytes, new_directory, remove_directory
from ...training.runs.last_telemetry import remove_dead_sessions
from ...training.watching.launching import watched_environment
from ...training.watching.startup.sitecustomize import VARIABLE

OUTPUT = "session.log"
MAX_LINES, MAX_BYTES = 10_000, 1 << 22
FIRST_LINES, HALF = 1_000, MAX_BYTES // 2
"""If the script prints more lines or bytes while the app has the terminal, the first lines and then the last ones are
printed when the app has left."""
READ, LEAST_FREED = 1 << 16, 1 << 20
KEEP_SIZE, PUNCH_HOLE = 1, 2
"""Flags of Linux's `fallocate`."""
READS_TERMINAL = re.compile(
    rb"^EOFError: EOF when reading a line|\bbdb\.BdbQuit\b|^now exiting InteractiveConsole|^i?\(?[Pp]db[)>] "
    rb"|No such device or address: '/dev/tty'|GetPassWarning",
    re.MULTILINE,
)
"""What a script prints that has tried to read from its terminal."""


class ScriptProcess:
    """A script in a process of its own. Its stdout goes to a file, and so does its stderr if ours is a terminal.

    It belongs to another session of the system, so that a closed terminal or a Ctrl-C there does not reach it.

    Attributes:
        directory: The folder of the file, which is called `session.log`.
        pid: The process id.
        reads_terminal: Whether it has tried to read from its terminal, which the app needs.
        replaced: Whether it has executed another program in its place, which is not watched.
    """

    def __init__(self, interpreter: str, arguments: Sequence[str], **request: Any) -> None:
        self.directory = new_directory()
        self.reads_terminal = self.replaced = False
        self._freed = self._lines_freed = 0
        path = self.directory / OUTPUT
        environment = watched_environment(output=str(path), quiet=True, **request)
        with path.open("ab", buffering=0) as output:
            self._process = subprocess.Popen(
                [interpreter, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output if os.isatty(2) else None,
                env=environment,
                start_new_session=True,
            )
        self.pid = self._process.pid
        self._printed, self._noticed, self._file = path.open("rb"), path.open("rb"), path.open("r+b")

    def poll(self) -> int | None:
        """Return the exit code, negative after a signal; None while it runs."""
        return self._process.poll()

    def wait(self, seconds: float) -> bool:
        """Wait at most so long for its end; return whether it has ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
        return self.poll() is not None

    @property
    def exit_code(self) -> int:
        """The exit code of a script that has ended, as a shell has it."""
        code = self._process.returncode
        return 128 - code if code < 0 else code

    def describe_end(self) -> str:
        """Return how it has ended, such as `ended, exit code 3`; an empty text while it runs."""
        code = self.poll()
        return "" if code is None else f"ended, {ending(code)}"

    def terminate(self) -> None:
        """Interrupt it, as Ctrl-C does."""
        self.signal(signal.SIGINT)

    def kill(self) -> None:
        """End it and its worker processes at once."""
        self.signal(signal.SIGKILL)

    def signal(self, number: int) -> None:
        """Send it and its workers a signal, as a terminal does."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, number)

    def report(self) -> dict[str, Any]:
        """A script has no report."""
        return {}

    def close(self) -> None:
        """After its end, remove its output, and what its sessions have left if it was killed."""
        for file in (self._printed, self._noticed, self._file):
            file.close()
        remove_directory(self.directory)
        remove_dead_sessions()

    def notice(self) -> None:
        """Look at what it has printed since the last call, and whether another program has replaced it."""
        size = os.fstat(self._noticed.fileno()).st_size
        if size - self._noticed.tell() > READ:
            self._noticed.seek(-READ, os.SEEK_END)
        self._free(size)
        self.reads_terminal = bool(READS_TERMINAL.search(self._noticed.read())) or self.reads_terminal
        with contextlib.suppress(OSError):  # it has ended, or the system has no such file
            if begun := Path(f"/proc/{self.pid}/environ").read_bytes():
                self.replaced = VARIABLE.encode() not in begun

    def _free(self, size: int) -> None:
        """Free the memory of output that was printed or will not be printed, of which a night may bring gigabytes."""
        printed = self._printed.tell()
        for begin, end in ((0, printed - HALF), (printed + HALF, size - HALF)):
            begin = max(begin, self._freed)  # noqa: PLW2901 - from there on
            if end - begin >= LEAST_FREED:
                self._lines_freed += _count_lines(self._file, begin, end) if begin > printed else 0
                free_memory(self._file, begin, end)
                self._freed = end

    def copy_output(self) -> None:
        """Print what the script has printed since the last call."""
        while data := self._printed.read(READ):
            sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()

    def copy_shortened(self) -> None:
        """Print what the script has printed since the last call, with a sentence in place of what is too long."""
        sys.stdout.buffer.writelines(shortened(self._printed, self._lines_freed))
        sys.stdout.buffer.flush()
        self._lines_freed = 0

    def tell(self, sentence: str) -> None:
        """Print a sentence of ours on a line of its own, after what was printed of the script."""
        size = self._printed.tell()
        begun = size and os.pread(self._printed.fileno(), 1, size - 1) != b"\n"
        print("\n" * bool(begun) + f"pac-tui: {sentence}", file=sys.stderr, flush=True)  # noqa: T201 - the app is gone


def free_memory(file: IO[bytes], begin: int, end: int) -> None:
    """Free the memory, or the blocks of a disk, of a part of a file, which then contains zeros; if the system can."""
    if (fallocate := getattr(ctypes.CDLL(None), "fallocate", None)) is not None:
        fallocate(file.fileno(), KEEP_SIZE | PUNCH_HOLE, ctypes.c_long(begin), ctypes.c_long(end - begin))


def _count_lines(file: IO[bytes], begin: int, end: int) -> int:
    return sum(os.pread(file.fileno(), min(READ, end - at), at).count(b"\n") for at in range(begin, end, READ))


def shortened(output: IO[bytes], lines_freed: int = 0) -> Iterator[bytes]:
    """Yield the rest of a file, with a sentence in place of what is too long, also of lines that were freed there."""
    begin = output.tell()
    data = output.read(MAX_BYTES + 1)
    if len(data) <= MAX_BYTES and data.count(b"\n") <= MAX_LINES:
        yield data
        return
    first = data[:HALF]
    if first.count(b"\n") > FIRST_LINES:
        first = first.removesuffix(first.split(b"\n", FIRST_LINES)[-1])
    end = output.seek(0, os.SEEK_END)
    output.seek(max(begin + len(first), end - HALF))
    last = b"\n".join(output.read().split(b"\n")[FIRST_LINES - MAX_LINES - 1 :])
    end = output.tell()
    left_out = begin + len(first), end - len(last)
    lines = lines_freed + _count_lines(output, *left_out)
    yield first
    much = f"{lines:,} lines ({human_bytes(left_out[1] - left_out[0])})"
    line = f"pac-tui: {much} of the script's output are left out here\n"
    yield (line if first.endswith(b"\n") else f"\n{line}").encode()
    yield last
