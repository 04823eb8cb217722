"""What the training and its workers print: followed, scrolled, searched."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from textual.app import ComposeResult

from ...training.logs import LogLine, Logs, Severity
from ...training.telemetry.snapshot import Snapshot
from ..drawing.panels import FRAME, framed
from ..drawing.styles import ACCENT, CYAN, FAINT, GROUND, RED, SIGNS, TEXT, YELLOW, Row, fit, styled
from ..drawing.widgets import TextLines
from .base import View, ViewUpdate
from .figures import hint

TITLE = "Output"
SOURCE, SIGN = 10, 2
LOOKS = {Severity.PLAIN: (" ", TEXT), Severity.WARNING: ("!", YELLOW), Severity.ERROR: (SIGNS.bad, RED)}


class LogView(View):
    """The lines of a session's and its workers' output, the newest at the bottom.

    Args:
        directory: Returns where the session stands, once that is known.
    """

    def __init__(self, directory: Callable[[], Path | None]) -> None:
        super().__init__(id="logs")
        self._directory = directory
        self._logs: Logs | None = None
        self._watched = False
        self._end: int | None = None
        self._shift, self._cut = 0, False
        self._pattern = ""
        self._found: int | None = None
        self._lines = TextLines()

    def compose(self) -> ComposeResult:
        """One panel."""
        yield self._lines

    def show(self, shot: ViewUpdate) -> None:
        """Read what is new and draw the lines."""
        if not shot.figures:
            return
        logs = self._opened(shot.snapshot)
        if logs is not None:
            logs.read()
        width, height = self._lines.size
        rows = self._rows(max(1, width - FRAME), max(1, height - 2))
        self._lines.show(framed(TITLE, rows, width, height, self._note(width - len(TITLE) - 8)))

    def _opened(self, snapshot: Snapshot) -> Logs | None:
        directory, self._watched = self._directory(), snapshot.description.watched
        if self._logs is None and directory is not None and not self._watched:
            self._logs = Logs(directory, snapshot.description.folder)
        return self._logs

    @property
    def _height(self) -> int:
        return max(1, self._lines.size.height - 2)

    @property
    def _last(self) -> int:
        """The number of the line at the bottom, one past it; lines are numbered from the first that there was."""
        count = self._logs.count if self._logs is not None else 0
        return count if self._end is None else min(self._end, count)

    def _kept(self) -> tuple[int, list[LogLine]]:
        """Return the number of the oldest line that is kept, and the lines."""
        if self._logs is None:
            return 0, []
        return self._logs.count - len(self._logs.lines), list(self._logs.lines)

    def _rows(self, width: int, height: int) -> list[Row]:
        first, kept = self._kept()
        if not kept:
            return hint("a script prints where it always did" if self._watched else "nothing was printed yet", width)
        end = max(self._last - first, min(height, len(kept)))
        begin = max(0, end - height)
        self._cut = any(len(line.text) - self._shift > width - SOURCE - SIGN for line in kept[begin:end])
        return [self._row(first + begin + at, line, width) for at, line in enumerate(kept[begin:end])]

    def _row(self, number: int, line: LogLine, width: int) -> Row:
        sign, color = LOOKS[line.severity]
        text = fit(line.text[self._shift :], max(0, width - SOURCE - SIGN)).rstrip()
        at = text.lower().find(self._pattern) if self._pattern else -1
        head = (
            styled(f"{line.source:<{SOURCE}}", CYAN if line.source == "training" else FAINT),
            styled(f"{sign} ", color),
        )
        if at < 0:
            return (*head, styled(text, color))
        to = at + len(self._pattern)
        ground = ACCENT if number == self._found else YELLOW
        return (*head, styled(text[:at], color), styled(text[at:to], GROUND, ground=ground), styled(text[to:], color))

    def _note(self, width: int) -> str:
        if self._pattern:
            return f"{self._matches()} lines with {self._pattern!r}   Enter: the one before"
        told = ["follows"] if self._end is None else ["stands still", "End follows"]
        told += [*(["← → shift"] if self._shift or self._cut else []), "/ searches"]
        while len("   ".join(told)) > width and len(told) > 1:
            told.pop()
        return "   ".join(told)

    def _matches(self) -> int:
        return sum(self._pattern in line.text.lower() for line in self._kept()[1])

    def turn_page(self, by: int) -> None:
        """Go some pages up or down; at the bottom, follow."""
        self.scroll_lines(by * self._height)

    def scroll_lines(self, by: int) -> None:
        """Go some lines up or down; at the bottom, follow."""
        count = self._logs.count if self._logs is not None else 0
        first = count - len(self._kept()[1])
        end = max(min(count, first + self._height), self._last + by)
        self._end = None if end >= count else end

    def shift(self, by: int) -> None:
        """Go some half widths to the right, at most to the end of the longest line, or back to the left."""
        half = max(1, (self._lines.size.width - FRAME - SOURCE - SIGN) // 2)
        longest = max((len(line.text) for line in self._kept()[1]), default=0)
        self._shift = max(0, min(self._shift + by * half, (longest - 1) // half * half))

    def search(self, text: str) -> None:
        """Mark what is searched for, any case, and go to the newest line that has it; nothing ends the search."""
        self._pattern, self._found = text.lower(), None
        self.find()

    def find(self) -> bool:
        """Go to the line before with what is searched for, or to the newest; return whether anything is."""
        first, kept = self._kept()
        numbers = [first + at for at, line in enumerate(kept) if self._pattern and self._pattern in line.text.lower()]
        if numbers:
            older = [number for number in numbers if self._found is None or number < self._found]
            self._found = (older or numbers)[-1]
            self._end = self._found + self._height // 2 + 1
        return bool(self._pattern)
