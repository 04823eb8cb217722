"""Reads the output of a session and its workers from their log files."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple

from ..envs.entries import entry_at
from ..envs.files import open_binary
from ..envs.printable import printable

MAX_LINES = 5000
MAX_CHARACTERS = 2000  # per line
LOG = "session.log"
CHUNK = 256 * 1024  # bytes per read; if a file has more new bytes, only its end is read
ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # colors and cursor movements
    r"|(?:\x1b[\]P_^X]|[\x9d\x90\x9f\x9e\x98])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # window titles and other strings
    r"|\x1b[ -/]*[0-~]"
)
TRACEBACK = re.compile(r"Traceback \(most recent call last\)|^Fatal Python error")
ERRORS = re.compile(r"\b\w*(?:Error|Exception)\b|\b(?:ERROR|CRITICAL|FATAL|Segmentation fault)\b")
WARNINGS = re.compile(r"\b\w*Warning\b|\b(?:WARNING|WARN)\b", re.IGNORECASE)


class LogSeverity(IntEnum):
    """The severity of a line of output."""

    PLAIN = 0
    WARNING = 1
    ERROR = 2


class LogLine(NamedTuple):
    """A line of output, its source and its severity."""

    source: str
    text: str
    severity: LogSeverity


class _File:
    """The end of a growing file, which may be truncated or deleted."""

    def __init__(self, source: str, path: Path) -> None:
        self.source = source
        self._entry = entry_at(path)
        self._at = 0
        self._rest = b""
        self._traces = False

    def read(self) -> Iterator[LogLine]:
        """Yield the lines since the last call."""
        try:
            with open_binary(self._entry) as file:
                size = file.seek(0, 2)
                if size < self._at:
                    self._at, self._rest = 0, b""
                if size - self._at > CHUNK:  # skip output that is faster than the reader
                    self._at, self._rest = size - CHUNK, b""
                file.seek(self._at)
                data = file.read(CHUNK)
        except OSError:
            return
        self._at += len(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        self._rest = self._rest[-CHUNK:]
        for line in lines:
            yield self._log_line(plain(line.decode(errors="replace")))

    def unfinished(self) -> LogLine | None:
        """Return the line that is being written, as it would look in a terminal; None if it is empty."""
        text = plain(self._rest.decode(errors="replace"))
        return LogLine(self.source, text, LogSeverity.ERROR if self._traces else severity_of(text)) if text else None

    def _log_line(self, text: str) -> LogLine:
        """Return a line with its severity. A traceback continues while lines are indented, and ends with its error."""
        traced = self._traces
        self._traces = bool(TRACEBACK.search(text)) or (traced and (not text or text[0] == " "))
        return LogLine(self.source, text, LogSeverity.ERROR if traced or self._traces else severity_of(text))


class Logs:
    """The latest output of a session and its workers.

    Args:
        directory: The session's directory, with the log files of its workers, and that of a script while it runs.
        folder: The run's folder, with the session's log, that of a script from its end on; empty without a run.
        source: What the session's log is the output of.

    Attributes:
        lines: The latest lines, oldest first.
        count: Number of lines so far.
    """

    def __init__(self, directory: Path, folder: str, source: str = "training") -> None:
        self.lines: deque[LogLine] = deque(maxlen=MAX_LINES)
        self.count = 0
        self._directory = directory
        self._source = source
        self._own = [parent / LOG for parent in (*([Path(folder)] if folder else []), directory)]
        self._files: dict[Path, _File] = {}

    @property
    def exists(self) -> bool:
        """Whether there is or was a log file; a script that has a terminal has none."""
        return bool(self._files)

    def read(self) -> bool:
        """Read new output; return whether there was any."""
        log = next((path for path in self._own if path.exists()), None)
        if log is not None and log not in self._files:
            for path in self._own:
                if self._files.pop(path, None) is not None:  # of a script that has ended: its run has all of it
                    self.lines.clear()
            self._files[log] = _File(self._source, log)
        for source, path in worker_logs(self._directory):
            if path not in self._files:
                self._files[path] = _File(source, path)
        before = self.count
        for file in self._files.values():
            for line in file.read():
                self.lines.append(line)
                self.count += 1
        return self.count != before

    def unfinished(self) -> list[LogLine]:
        """Return the lines that are being written, such as progress bars."""
        return [line for file in self._files.values() if (line := file.unfinished()) is not None]


def worker_logs(directory: Path) -> Iterator[tuple[str, Path]]:
    """Yield the workers of the session in a directory, by name, and their log files."""
    for path in sorted(directory.glob("fleet-*.log")):
        yield f"worker {int(path.stem.rpartition('-')[2]) + 1}", path


def plain(text: str) -> str:
    """Return a line without escape sequences; of text that overwrites itself, only the last version."""
    text = text.rstrip("\r").rpartition("\r")[2]
    return printable(ESCAPES.sub("", text).expandtabs(4))[:MAX_CHARACTERS].rstrip()


def severity_of(text: str) -> LogSeverity:
    """Return the severity of a line by its words."""
    if ERRORS.search(text):
        return LogSeverity.ERROR
    return LogSeverity.WARNING if WARNINGS.search(text) else LogSeverity.PLAIN
