"""Imported by each Python process of a script that a test runs: notes what it prints, by stream, and its signals.

The streams keep their types and their buffering. Signals are noted that have a handler of Python's, as SIGINT has; the
others end the process, as its exit code tells.
"""

import io
import os
import signal
import sys

VARIABLE = "PAC_TEST_RECORD"


class NotedFile(io.FileIO):
    """A descriptor whose data is also appended to a file of the record."""

    def __init__(self, descriptor: int, mode: str, note: int) -> None:
        super().__init__(descriptor, mode, closefd=False)
        self._note = note

    def write(self, data: object) -> int:
        """Write, and note what was written."""
        written = super().write(data)  # type: ignore[arg-type]
        os.write(self._note, memoryview(data)[:written])  # type: ignore[arg-type]
        return written


def note(folder: str, name: str) -> int:
    """Open a file of the record."""
    return os.open(os.path.join(folder, name), os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK)  # noqa: PTH118 - as below


def noted(stream: io.TextIOWrapper, to: int) -> io.TextIOWrapper:
    """Return a stream like `stream`, whose data is noted."""
    raw = NotedFile(stream.fileno(), "w", to)
    raw.name = stream.name
    return io.TextIOWrapper(
        raw if isinstance(stream.buffer, io.FileIO) else io.BufferedWriter(raw),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


def note_signals(folder: str) -> None:
    """Append the number of each signal to a file of this process."""
    signal.set_wakeup_fd(note(folder, f"signals-{os.getpid()}"), warn_on_full_buffer=False)


def main(folder: str) -> None:
    """Note what this process does."""
    script = os.path.join(folder, "script")  # noqa: PTH118 - a script may not import pathlib
    if not os.path.lexists(script):
        os.symlink(str(os.getpid()), script)  # noqa: PTH211 - as above
    sys.stdout = sys.__stdout__ = noted(sys.stdout, note(folder, "stdout"))  # type: ignore[arg-type, misc]
    sys.stderr = sys.__stderr__ = noted(sys.stderr, note(folder, "stderr"))  # type: ignore[arg-type, misc]
    note_signals(folder)
    os.register_at_fork(after_in_child=lambda: note_signals(folder))


if VARIABLE in os.environ and "pac.tui" not in sys.orig_argv:
    main(os.environ[VARIABLE])
