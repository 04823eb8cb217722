"""What dialogs share: a panel of rows, rows over an input, and keys that select a row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, TypeVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.widgets import Input

from ...training.telemetry.snapshot import Snapshot
from ..drawing.panels import framed
from ..drawing.plain import Modal
from ..drawing.styles import Row
from ..drawing.widgets import TextLines

Result = TypeVar("Result")
SELECT = (
    Binding("up", "select(-1)", "Select", priority=True),
    Binding("down", "select(1)", "Select", priority=True),
    Binding("pageup", "select(-10)", "Select", priority=True),
    Binding("pagedown", "select(10)", "Select", priority=True),
)
"""The keys that select another row while an input has the focus."""


def first_shown(selected: int, room: int, count: int) -> int:
    """Return the first of `room` rows that are shown of `count`, with the selected one in the middle."""
    return max(0, min(selected - room // 2, count - room))


class PanelDialog(Modal[Result]):
    """A panel of rows. A subclass draws them in `draw`.

    Args:
        name: The panel's name in the style sheet.
    """

    def __init__(self, name: str) -> None:
        super().__init__()
        self._lines = TextLines(id=name)

    def compose(self) -> ComposeResult:
        """One panel."""
        yield self._lines

    def on_resize(self) -> None:
        """Draw for the size of the terminal."""
        self.draw()

    def draw(self) -> None:
        """Draw the rows."""
        raise NotImplementedError

    def frame(self, title: str, rows: Sequence[Row], width: int, note: str | Row = "") -> None:
        """Show rows in a frame of their height, at most that of the screen."""
        height = min(len(rows) + 2, self.size.height)
        self._lines.styles.width, self._lines.styles.height = width, height
        self._lines.show(framed(title, rows, width, height, note))


class InputDialog(Modal[Result]):
    """Rows over an input. A subclass draws its rows in `draw`.

    Args:
        line: The input.
    """

    def __init__(self, line: Input) -> None:
        super().__init__()
        self.line, self.lines = line, TextLines()

    def compose(self) -> ComposeResult:
        """The rows and the input."""
        with Vertical():
            yield self.lines
            yield self.line

    def on_resize(self) -> None:
        """Draw for the size of the terminal."""
        self.draw()

    def draw(self) -> None:
        """Draw the rows."""
        raise NotImplementedError

    def action_leave(self) -> None:
        """Clear the input; if it is empty, close."""
        if self.line.value:
            self.line.value = ""
        else:
            self.dismiss(None)

    def frame(self, title: str, rows: Sequence[Row], width: int, note: str | Row) -> None:
        """Show rows in a frame of their height."""
        self.lines.styles.height = len(rows) + 2
        self.lines.show(framed(title, rows, width, len(rows) + 2, note))


class Dialog(InputDialog[None]):
    """Rows over an input, which stay open while the session runs.

    A subclass takes the input in `on_input_submitted`.

    Args:
        command: Sends a command.
        snapshot: The newest snapshot.
        line: The input.

    Attributes:
        SENDS: The commands whose refusals are shown in the dialog.
        error: The last refusal.
    """

    SENDS: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, command: Callable[..., None], snapshot: Snapshot, line: Input) -> None:
        super().__init__(line)
        self.command, self.snapshot, self.error = command, snapshot, ""

    def show(self, snapshot: Snapshot) -> None:
        """Show a new snapshot."""
        self.snapshot = snapshot
        self.draw()

    def refused(self, _command: str, text: str) -> None:
        """Show why the session refused a command."""
        self.error = text
        self.draw()
