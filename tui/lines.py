"""The widgets that show rows of styled text and redraw only those that changed."""

from __future__ import annotations

from collections.abc import Sequence

from textual.filter import ANSIToTruecolor, LineFilter
from textual.geometry import Region, Size
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from .ink import FAINT, LINE, SIGNS, SOFT, Row, fit, ink, part


class Painted(Widget):
    """A widget that paints its own lines, in true colours only: it needs no translation of ANSI colours."""

    def get_line_filters(self) -> Sequence[LineFilter]:
        """All filters but that for ANSI colours, which costs half of the drawing and has nothing to do here."""
        return [item for item in super().get_line_filters() if not isinstance(item, ANSIToTruecolor)]

    def render_lines(self, crop: Region) -> list[Strip]:
        """Draw; what was marked is drawn now, and Textual forgets it only for widgets that do not draw lines."""
        self._dirty_regions.clear()
        return super().render_lines(crop)


class Lines(Painted):
    """Rows of text. `show` redraws what differs from the last time."""

    class Resized(Message):
        """The rows were made for another size."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, classes=classes)
        self.rows: Sequence[Row] = ()

    @property
    def text(self) -> str:
        """What is shown, without styles."""
        return "\n".join("".join(segment.text for segment in row) for row in self.rows)

    @property
    def room(self) -> Size:
        """Columns and rows for the text."""
        return self.size

    def show(self, rows: Sequence[Row]) -> None:
        """Show `rows` from now on."""
        before, self.rows = self.rows, rows
        if len(before) != len(rows) and self.styles.height is not None and self.styles.height.is_auto:
            self.refresh(layout=True)
            return
        shared = min(len(before), len(rows))
        changed = [y for y in range(shared) if before[y] != rows[y]]
        self._mark([*changed, *range(shared, max(len(before), len(rows)))])

    def _mark(self, lines: Sequence[int]) -> None:
        """Have these lines of text redrawn."""
        width, height = self.size
        marked = [Region(0, y, width, 1) for y in lines if y < height]
        if marked and width:
            self.refresh(*marked)

    def on_resize(self) -> None:
        """Ask for rows of this size."""
        self.post_message(self.Resized())

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002 - Textual's
        """As many lines as there are rows, where the style leaves it open."""
        return len(self.rows)

    def render_line(self, y: int) -> Strip:
        """Draw one row."""
        return Strip(self.rows[y] if y < len(self.rows) else ()).adjust_cell_length(self.size.width, ink())


class Panel(Lines):
    """Rows of text in a frame.

    Attributes:
        title: What stands in the frame's top left.
        note: What stands in its top right.
    """

    def __init__(self, title: str, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id, classes=classes)
        self.title = title
        self.note = ""

    @property
    def room(self) -> Size:
        """Columns and rows for the text, inside the frame and a space."""
        width, height = self.size
        return Size(max(0, width - 4), max(0, height - 2))

    def caption(self, title: str, note: str = "") -> None:
        """Change what stands in the frame."""
        if (title, note) != (self.title, self.note):
            self.title, self.note = title, note
            self.refresh(Region(0, 0, self.size.width, 1))

    def _mark(self, lines: Sequence[int]) -> None:
        super()._mark([y + 1 for y in lines if y + 2 < self.size.height])

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As many lines as there are rows, and the frame."""
        return super().get_content_height(container, viewport, width) + 2

    def render_line(self, y: int) -> Strip:
        """Draw a line of the frame, or a row between its sides."""
        width, height = self.size
        left_bottom, right_bottom = SIGNS.corners[2:]
        if y == 0:
            return Strip(frame_top(self.title, self.note, width))
        if y == height - 1:
            return Strip((part(left_bottom + "─" * max(0, width - 2) + right_bottom, LINE),))
        row = self.rows[y - 1] if y <= len(self.rows) else ()
        inside = Strip(row).adjust_cell_length(max(0, width - 4), ink())
        return Strip((part("│ ", LINE), *inside, part(" │", LINE)), width)


def frame_top(title: str, note: str, width: int) -> Row:
    """Return the top of a frame, with a title on the left and a note on the right where there is room."""
    left, right = SIGNS.corners[:2]
    name = f" {fit(title, width - 4).rstrip()} " if title and width > 6 else ""
    end = f" {note} " if note and len(name) + len(note) + 6 <= width else ""
    rule = "─" * max(0, width - 3 - len(name) - len(end) - bool(end))
    tail = (part(end, FAINT), part("─", LINE)) if end else ()
    return (part(f"{left}─", LINE), part(name, SOFT, bold=True), part(rule, LINE), *tail, part(right, LINE))
