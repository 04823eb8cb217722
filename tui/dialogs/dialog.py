"""A dialog of text over an input, which stays open while the session runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from ...training.telemetry.snapshot import Snapshot
from ..drawing.panels import framed
from ..drawing.styles import Row
from ..drawing.widgets import TextLines


class Dialog(ModalScreen[None]):
    """A subclass draws its rows in `draw`, and takes the input in `on_input_submitted`.

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
        super().__init__()
        self.command = command
        self.snapshot = snapshot
        self.line = line
        self.lines = TextLines()
        self.error = ""

    def compose(self) -> ComposeResult:
        """The rows and the input."""
        with Vertical():
            yield self.lines
            yield self.line

    def on_resize(self) -> None:
        """Draw for the size of the terminal."""
        self.draw()

    def show(self, snapshot: Snapshot) -> None:
        """Show a new snapshot."""
        self.snapshot = snapshot
        self.draw()

    def refused(self, _command: str, text: str) -> None:
        """Show why the session refused a command."""
        self.error = text
        self.draw()

    def draw(self) -> None:
        """Draw the rows."""
        raise NotImplementedError

    def frame(self, title: str, rows: Sequence[Row], width: int, note: str | Row) -> None:
        """Show rows in a frame of their height."""
        self.lines.styles.height = len(rows) + 2
        self.lines.show(framed(title, rows, width, len(rows) + 2, note))
