"""Widgets that show rows of styled text and redraw only those that have changed."""

from __future__ import annotations

from collections.abc import Sequence

from textual.filter import ANSIToTruecolor, LineFilter
from textual.geometry import Region, Size
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from .panels import BORDER, bordered
from .styles import Row, padded

NONE: set[Region] = set()


class LineWidget(Widget):
    """A widget that draws its lines itself, in true colors only."""

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Return all filters except the one for ANSI colors, which would take half of the time and do nothing."""
        return [item for item in super().get_line_filters() if not isinstance(item, ANSIToTruecolor)]

    def render_lines(self, crop: Region) -> list[Strip]:
        """Draw lines. Textual itself clears the dirty regions only of widgets that do not draw lines."""
        getattr(self, "_dirty_regions", NONE).clear()
        return super().render_lines(crop)


class TextLines(LineWidget):
    """Rows of text. `show` redraws the rows that have changed."""

    class Resized(Message):
        """The widget has another size, so that its rows no longer fit."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.rows: Sequence[Row] = ()

    @property
    def text(self) -> str:
        """The text, without styles."""
        return "\n".join("".join(segment.text for segment in row) for row in self.rows)

    def show(self, rows: Sequence[Row]) -> None:
        """Show these rows."""
        before, self.rows = self.rows, rows
        width, height = self.size
        shared = min(len(before), len(rows))
        changed = [y for y in range(shared) if before[y] != rows[y]]
        changed += range(shared, max(len(before), len(rows)))
        marked = [Region(0, y, width, 1) for y in changed if y < height]
        if not width:  # it is hidden, and what it drew before is still stored
            self.refresh()
        elif marked:
            self.refresh(*marked)

    def on_resize(self) -> None:
        """Request rows of the new size."""
        self.post_message(self.Resized())

    def render_line(self, y: int) -> Strip:
        """Draw one row."""
        width = self.size.width
        return Strip(padded(self.rows[y] if y < len(self.rows) else (), width), width)


class BorderedLines(TextLines):
    """Rows of text in a border of their height."""

    def __init__(self, title: str, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._title = title
        self._inside: Sequence[Row] = ()

    @property
    def room(self) -> Size:
        """Columns and rows for text inside the border."""
        width, height = self.size
        return Size(max(0, width - BORDER), max(0, height - 2))

    def show(self, rows: Sequence[Row]) -> None:
        taller, self._inside = len(rows) != len(self._inside), rows
        super().show(bordered(self._title, rows, self.size.width, len(rows) + 2))
        if taller:
            self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002 - Textual's
        """Return the number of rows and the lines of the border."""
        return len(self._inside) + 2
