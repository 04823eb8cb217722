"""The output of the training and its workers: followed, scrolled, searched."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ...training.logs import LogLine, Logs, LogSeverity
from ...training.telemetry.snapshot import Snapshot
from ..drawing.panels import BORDER, bordered
from ..drawing.styles import ACCENT, CYAN, FAINT, GROUND, RED, SIGNS, SOFT, TEXT, YELLOW, Row, fit, styled
from ..keys import shown as key_shown
from .base import LinesView, ViewUpdate
from .number_rows import hint

TITLE = "Output"
SOURCE, SIGN = 10, 2
COLORS = {LogSeverity.PLAIN: TEXT, LogSeverity.WARNING: YELLOW, LogSeverity.ERROR: RED}


class LogView(LinesView):
    """The output of a session and its workers, the newest line at the bottom.

    Args:
        directory: Returns the session's folder once it is known.
    """

    ID = "logs"

    def __init__(self, directory: Callable[[], Path | None]) -> None:
        super().__init__()
        self._directory = directory
        self._logs: Logs | None = None
        self._read: Path | None = None
        self._watched = False
        self._end: int | None = None
        self._shift, self._cut = 0, False
        self._pattern = ""
        self._found: int | None = None

    def show(self, update: ViewUpdate) -> None:
        """Read new lines and draw."""
        if not update.numbers:
            return
        logs = self._opened(update.snapshot)
        if logs is not None:
            logs.read()
        width, height = self._lines.size
        rows = self._rows(max(1, width - BORDER), max(1, height - 2))
        self._lines.show(bordered(TITLE, rows, width, height, self._note(width - len(TITLE) - 8)))

    def last_rows(self, snapshot: Snapshot, width: int, height: int) -> list[Row]:
        """Return the last lines of the output below a title, in at most `height` lines; nothing if there are none."""
        if (logs := self._opened(snapshot)) is not None:
            logs.read()
        first, kept = self._kept()
        last = kept[len(kept) - max(0, height - 1) :]
        if not last:
            return []
        title = (styled(f" {TITLE} ", SOFT), styled(f"{key_shown('view.logs')} shows all", FAINT))
        return [title, *(self._row(first + len(kept) - len(last) + at, line, width) for at, line in enumerate(last))]

    def _opened(self, snapshot: Snapshot) -> Logs | None:
        directory, self._watched = self._directory(), snapshot.description.watched
        if directory is not None and directory != self._read:
            self._logs, self._read = Logs(directory, snapshot.description.folder, self._source), directory
            self._end, self._found, self._shift = None, None, 0
        return self._logs

    @property
    def _source(self) -> str:
        return "script" if self._watched else "training"

    @property
    def _height(self) -> int:
        return max(1, self._lines.size.height - 2)

    @property
    def _last(self) -> int:
        """One more than the number of the line at the bottom; lines are numbered from the first ever printed."""
        first, kept = self._kept()
        count = first + len(kept)
        return count if self._end is None else min(self._end, count)

    def _kept(self) -> tuple[int, list[LogLine]]:
        """Return the number of the oldest line in memory, and the lines."""
        if self._logs is None:
            return 0, []
        return self._logs.count - len(self._logs.lines), [*self._logs.lines, *self._logs.unfinished()]

    def _rows(self, width: int, height: int) -> list[Row]:
        first, kept = self._kept()
        if not kept:
            elsewhere = self._watched and not (self._logs is not None and self._logs.exists)
            text = "the output of a script stays in its own terminal" if elsewhere else "nothing was printed yet"
            return hint(text, width)
        end = max(self._last - first, min(height, len(kept)))
        begin = max(0, end - height)
        self._cut = any(len(line.text) - self._shift > width - SOURCE - SIGN for line in kept[begin:end])
        return [self._row(first + begin + at, line, width) for at, line in enumerate(kept[begin:end])]

    def _row(self, number: int, line: LogLine, width: int) -> Row:
        color = COLORS[line.severity]
        sign = {LogSeverity.WARNING: "!", LogSeverity.ERROR: SIGNS.bad}.get(line.severity, " ")
        text = fit(line.text[self._shift :], max(0, width - SOURCE - SIGN)).rstrip()
        at = text.lower().find(self._pattern) if self._pattern else -1
        head = (
            styled(f"{line.source:<{SOURCE}}", CYAN if line.source == self._source else FAINT),
            styled(f"{sign} ", color),
        )
        if at < 0:
            return (*head, styled(text, color))
        to = at + len(self._pattern)
        ground = ACCENT if number == self._found else YELLOW
        return (*head, styled(text[:at], color), styled(text[at:to], GROUND, ground=ground), styled(text[to:], color))

    def _note(self, width: int) -> str:
        if self._pattern:
            return f"{self._matches()} lines with {self._pattern!r}   Enter: previous match"
        notes = ["following"] if self._end is None else ["scrolled", "End: follow"]
        notes += [*(["← → shift"] if self._shift or self._cut else []), "/ search"]
        while len("   ".join(notes)) > width and len(notes) > 1:
            notes.pop()
        return "   ".join(notes)

    def _matches(self) -> int:
        return sum(self._pattern in line.text.lower() for line in self._kept()[1])

    def turn_page(self, by: int) -> None:
        """Scroll by pages; at the end, follow new lines."""
        self.scroll_lines(by * self._height)

    def scroll_lines(self, by: int) -> None:
        """Scroll by lines; at the end, follow new lines."""
        first, kept = self._kept()
        count = first + len(kept)
        end = max(min(count, first + self._height), self._last + by)
        self._end = None if end >= count else end

    def shift(self, by: int) -> None:
        """Scroll to the right by half widths, at most to the end of the longest line, or to the left."""
        half = max(1, (self._lines.size.width - BORDER - SOURCE - SIGN) // 2)
        longest = max((len(line.text) for line in self._kept()[1]), default=0)
        self._shift = max(0, min(self._shift + by * half, (longest - 1) // half * half))

    def search(self, text: str) -> None:
        """Mark all matches, ignoring case, and go to the newest. An empty text ends the search."""
        self._pattern, self._found = text.lower(), None
        self.find()

    def find(self) -> bool:
        """Go to the previous match, or from the oldest to the newest; return whether a text is searched."""
        first, kept = self._kept()
        numbers = [first + at for at, line in enumerate(kept) if self._pattern and self._pattern in line.text.lower()]
        if numbers:
            older = [number for number in numbers if self._found is None or number < self._found]
            self._found = (older or numbers)[-1]
            self._end = self._found + self._height // 2 + 1
        return bool(self._pattern)
