"""The breakpoints: a list of them, and a line that adds one."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import wrap
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from ..envs.task import Array
from .ink import ACCENT, BRIGHT, FAINT, ORANGE, RED, SIGNS, SOFT, Row, fit, part
from .lines import Lines
from .panels import FRAME, framed
from .prompt import KeyedInput

EMPTY = ("any: nan(obs)", "env 3: reward < -5", "ended and length > 100", "hung or entropy < 0.1")
MOST_COLUMNS, MARGIN = 76, 4
HITS = 10


class Breakpoints(ModalScreen[None]):
    """Shows the breakpoints that a session has, and asks it for others.

    While the line is empty, Space switches the selected one off or on and Delete removes it.

    Args:
        command: Sends a command.
        kept: The breakpoints there are, of the record `BREAKPOINT`.
    """

    SENDS = frozenset({"break", "switch_break", "unbreak"})
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "Close"),
        Binding("up", "select(-1)", "Select", priority=True),
        Binding("down", "select(1)", "Select", priority=True),
    ]

    def __init__(self, command: Callable[..., None], kept: Array) -> None:
        super().__init__()
        self._command = command
        self._kept = kept
        self._selected = 0
        self._sent = ""
        self._error = ""
        self._lines = Lines()
        self._input = KeyedInput(
            {"space", "delete"}, max_length=200, placeholder="condition, Enter adds it", select_on_focus=False
        )

    def compose(self) -> ComposeResult:
        """A list, and a line to type in."""
        with Vertical():
            yield self._lines
            yield self._input

    def on_resize(self) -> None:
        """Draw for the size of the terminal."""
        self._draw()

    def show(self, kept: Array) -> None:
        """Show what the session has now."""
        self._kept = kept
        self._draw()

    def refused(self, command: str, text: str) -> None:
        """Say why the session would not do it; what was typed comes back."""
        self._error = text
        if command == "break" and not self._input.value:
            self._input.value = self._sent
            self._input.cursor_position = len(self._sent)
        self._draw()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Add what was typed."""
        self._sent, self._error = event.value.strip(), ""
        if self._sent:
            self._command("break", text=self._sent)
        self._input.value = ""
        self._draw()

    def action_select(self, by: int) -> None:
        """Select another one."""
        self._selected += by
        self._draw()

    def on_keyed_input_pressed(self, event: KeyedInput.Pressed) -> None:
        """Switch the selected one off or on, or remove it."""
        if len(self._kept):
            command = "switch_break" if event.key == "space" else "unbreak"
            self._command(command, number=int(self._kept["number"][self._selected]))

    def _draw(self) -> None:
        self._selected = min(max(0, self._selected), max(0, len(self._kept) - 1))
        width = max(1, min(MOST_COLUMNS, self.size.width))
        room = max(1, self.size.height - MARGIN - 2 - bool(self._error))
        first = max(0, self._selected - room + 1)
        inner = max(1, width - FRAME)
        rows = [self._row(index, inner) for index in range(first, min(len(self._kept), first + room))]
        if not rows:
            rows = [(part("there are none; for instance:", SOFT),), *((part(f"  {text}", FAINT),) for text in EMPTY)]
        if self._error:
            rows += [(part(line, RED),) for line in wrap(self._error, inner)]
        note = "Space off, on   Delete removes   Esc closes"
        self._lines.styles.height = len(rows) + 2
        self._lines.show(framed("Breakpoints", rows, width, len(rows) + 2, note))

    def _row(self, index: int, width: int) -> Row:
        item = self._kept[index]
        on, text = bool(item["on"]), item["text"].decode(errors="replace")
        hits = f"{int(item['hits']):,} hits" if item["hits"] != 1 else "1 hit"
        return (
            part("▌" if index == self._selected else " ", ACCENT),
            part(f"{int(item['number']):>2} ", FAINT),
            part(f"{SIGNS.dot if on else SIGNS.neutral} ", ORANGE if on else FAINT),
            part(fit(text, max(0, width - 6 - HITS)), BRIGHT if on else FAINT),
            part(f"{hits if on or item['hits'] else 'off':>{HITS}}", SOFT),
        )
