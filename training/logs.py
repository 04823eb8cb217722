"""What a session and its workers print, as it comes: read from the files that it goes to."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple

from ..envs.files import open_binary
from ..envs.printable import printable

MAX_LINES = 5000
MAX_CHARACTERS = 2000  # of a line
CHUNK = 64 * 1024  # bytes that are read of a file at once; of what stood there before, only that much of its end
ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # colours and cursors
    r"|(?:\x1b[\]P_^X]|[\x9d\x90\x9f\x9e\x98])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # titles and other strings
    r"|\x1b[ -/]*[0-~]"
)
TRACEBACK = re.compile(r"Traceback \(most recent call last\)|^Fatal Python error")
ERRORS = re.compile(r"\b\w*(?:Error|Exception)\b|\b(?:ERROR|CRITICAL|FATAL|Segmentation fault)\b")
WARNINGS = re.compile(r"\b\w*Warning\b|\b(?:WARNING|WARN)\b", re.IGNORECASE)


class Severity(IntEnum):
    """How much a printed line matters."""

    PLAIN = 0
    WARNING = 1
    ERROR = 2


class LogLine(NamedTuple):
    """A line that was printed, by whom, and how much it matters."""

    source: str
    text: str
    severity: Severity


class _File:
    """The end of a file that grows, and may be cut or go away."""

    def __init__(self, source: str, path: Path) -> None:
        self.source = source
        self._path = path
        self._at = 0
        self._rest = b""
        self._traces = False

    def read(self) -> Iterator[LogLine]:
        """Yield the lines that were added since the last time."""
        try:
            with open_binary(self._path) as file:
                size = file.seek(0, 2)
                if size < self._at:
                    self._at, self._rest = 0, b""
                if size - self._at > CHUNK:  # what comes faster than it is read is left out
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

    def _log_line(self, text: str) -> LogLine:
        """Weigh a line; a traceback goes on as long as lines are indented, and ends with its error."""
        traced = self._traces
        self._traces = bool(TRACEBACK.search(text)) or (traced and (not text or text[0] == " "))
        return LogLine(self.source, text, Severity.ERROR if traced or self._traces else severity_of(text))


class Logs:
    """The last lines that a session and its workers printed.

    Args:
        directory: Where the session stands; what its workers print goes to files there.
        folder: Where the run is kept, or nothing; what the training prints goes there.

    Attributes:
        lines: The last of them, oldest first.
        count: How many there have been.
    """

    def __init__(self, directory: Path, folder: str) -> None:
        self.lines: deque[LogLine] = deque(maxlen=MAX_LINES)
        self.count = 0
        self._directory = directory
        log = (Path(folder) if folder else directory) / "session.log"
        self._files = {log: _File("training", log)}

    def read(self) -> bool:
        """Read what was printed since the last time; return whether anything was."""
        for path in sorted(self._directory.glob("fleet-*.log")):
            if path not in self._files:
                self._files[path] = _File(f"worker {int(path.stem.rpartition('-')[2]) + 1}", path)
        before = self.count
        for file in self._files.values():
            for line in file.read():
                self.lines.append(line)
                self.count += 1
        return self.count != before


def plain(text: str) -> str:
    """Return a line without what moves cursors or colours letters; of what overwrites itself, the last."""
    text = text.rstrip("\r").rpartition("\r")[2]
    return printable(ESCAPES.sub("", text).expandtabs(4))[:MAX_CHARACTERS].rstrip()


def severity_of(text: str) -> Severity:
    """Return how much a line matters, by its words."""
    if ERRORS.search(text):
        return Severity.ERROR
    return Severity.WARNING if WARNINGS.search(text) else Severity.PLAIN
