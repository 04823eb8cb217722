"""The dialog of breakpoints: a list, and an input that adds one."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widgets import Input

from ...envs.fields import Array
from ...training.telemetry.snapshot import Snapshot
from ..drawing.panels import FRAME
from ..drawing.styles import ACCENT, BRIGHT, FAINT, ORANGE, RED, SIGNS, SOFT, Row, fit, styled
from ..views.figures import hint, wrapped
from .dialog import Dialog
from .prompt import KeyedInput

EMPTY = ("any: nan(obs)", "env 3: reward < -5", "ended and length > 100", "hung or entropy < 0.1")
MOST_COLUMNS, MARGIN = 76, 4
HITS = 10


class BreakpointsDialog(Dialog):
    """Lists the breakpoints of a session, and adds, switches and removes them.

    While the input is empty, Space switches the selected one off or on, and Delete removes it.

    Args:
        command: Sends a command.
        snapshot: The newest snapshot.
    """

    SENDS = frozenset({"break", "switch_break", "unbreak"})
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "Close"),
        Binding("up", "select(-1)", "Select", priority=True),
        Binding("down", "select(1)", "Select", priority=True),
    ]

    def __init__(self, command: Callable[..., None], snapshot: Snapshot) -> None:
        placeholder = "condition, Enter adds it"
        line = KeyedInput({"space", "delete"}, max_length=200, placeholder=placeholder, select_on_focus=False)
        super().__init__(command, snapshot, line)
        self._selected = 0
        self._sent = ""

    @property
    def _kept(self) -> Array:
        """The breakpoints, as records of `BREAKPOINT`."""
        return self.snapshot.breakpoints

    def refused(self, command: str, text: str) -> None:
        """Show why the session refused, and put a refused condition back into the input."""
        if command == "break" and not self.line.value:
            self.line.value = self._sent
            self.line.cursor_position = len(self._sent)
        super().refused(command, text)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Add the condition."""
        self._sent, self.error = event.value.strip(), ""
        if self._sent:
            self.command("break", text=self._sent)
        self.line.value = ""
        self.draw()

    def action_select(self, by: int) -> None:
        """Select another one."""
        self._selected += by
        self.draw()

    def on_keyed_input_pressed(self, event: KeyedInput.Pressed) -> None:
        """Switch the selected one off or on, or remove it."""
        if len(self._kept):
            command = "switch_break" if event.key == "space" else "unbreak"
            self.command(command, number=int(self._kept["number"][self._selected]))

    def draw(self) -> None:
        """Draw the list, scrolled to the selected breakpoint."""
        self._selected = min(max(0, self._selected), max(0, len(self._kept) - 1))
        width = max(1, min(MOST_COLUMNS, self.size.width))
        room = max(1, self.size.height - MARGIN - 2 - bool(self.error))
        first = max(0, self._selected - room + 1)
        inner = max(1, width - FRAME)
        rows = [self._row(index, inner) for index in range(first, min(len(self._kept), first + room))]
        if not rows:
            rows = [
                (styled("no breakpoints; examples:", SOFT),),
                *((styled(f"  {text}", FAINT),) for text in EMPTY),
            ]
        if self.error:
            rows += [(styled(line, RED),) for line in wrapped(self.error, inner)]
        elif len(rows) + len(names := self._names(inner)) <= room:
            rows += names
        note = "Space off, on   Delete removes   Esc closes"
        self.frame("Breakpoints", rows, width, note)

    def _names(self, width: int) -> list[Row]:
        """The names that a condition can contain."""
        from ...training.guards.breakpoints import condition_names_with

        about = self.snapshot.description
        own = (*about.info, *(name for name, _ in about.outcomes))
        known = condition_names_with(own, action=not (about.choices or about.bounds))
        return [(), *hint(f"names: {' '.join(known)}", width)]

    def _row(self, index: int, width: int) -> Row:
        item = self._kept[index]
        on, text = bool(item["on"]), item["text"].decode(errors="replace")
        hits = f"{int(item['hits']):,} hits" if item["hits"] != 1 else "1 hit"
        return (
            styled("▌" if index == self._selected else " ", ACCENT),
            styled(f"{int(item['number']):>2} ", FAINT),
            styled(f"{SIGNS.dot if on else SIGNS.neutral} ", ORANGE if on else FAINT),
            styled(fit(text, max(0, width - 6 - HITS)), BRIGHT if on else FAINT),
            styled(f"{hits if on or item['hits'] else 'off':>{HITS}}", SOFT),
        )
