"""The dialog of breakpoints: a list, and an input that adds one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from textual.widgets import Input

from ...training.telemetry.declared import decoded
from ...training.telemetry.snapshot import Snapshot
from ..drawing.styles import ACCENT, BRIGHT, FAINT, ORANGE, SIGNS, SOFT, Row, fit, styled
from ..views.number_rows import hint
from .dialog import ListDialog
from .prompt import KeyedInput

EMPTY = ("any: nan(obs)", "env 3: reward < -5", "ended and length > 100", "hung or entropy < 0.1")
HITS = 10


class BreakpointsDialog(ListDialog[Any, None]):
    """Lists the breakpoints of a session, and adds, switches and removes them.

    While the input is empty, Space switches the selected one off or on, and Delete removes it.

    Args:
        command: Sends a command.
        snapshot: The newest snapshot.
    """

    heading, MOST_COLUMNS = "Breakpoints", 76
    SENDS = frozenset({"break", "switch_break", "unbreak"})
    line: KeyedInput

    def __init__(self, command: Callable[..., None], snapshot: Snapshot) -> None:
        placeholder = "condition, Enter adds it"
        super().__init__(
            KeyedInput({"space", "delete"}, max_length=200, placeholder=placeholder, select_on_focus=False)
        )
        self._command, self._snapshot = command, snapshot
        self._sent = ""

    def show(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self.draw()

    @property
    def shown(self) -> list[Any]:
        """The breakpoints, as records of `BREAKPOINT`."""
        return list(self._snapshot.breakpoints)

    def _key(self, item: Any) -> int:
        return int(item["number"])

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
            self._command("break", text=self._sent)
        self.line.value = ""
        self.draw()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter nothing by a condition, and leave what was wrong with the last one to be read."""
        event.prevent_default()

    def on_keyed_input_pressed(self, event: KeyedInput.Pressed) -> None:
        """Switch the selected one off or on, or remove it."""
        if self.item is not None:
            self._command("switch_break" if event.key == "space" else "unbreak", number=self._key(self.item))

    def _empty(self, _width: int) -> list[Row]:
        return [(styled("no breakpoints; examples:", SOFT),), *((styled(f"  {text}", FAINT),) for text in EMPTY)]

    def _foot(self, item: Any, width: int, room: int) -> list[Row]:
        names = self._names(width)
        return super()._foot(item, width, room) or (names if len(names) <= room else [])

    def _note(self, _at: int, _count: int) -> str:
        return "Space off, on   Delete removes   Esc closes"

    def _names(self, width: int) -> list[Row]:
        from ...training.guards.breakpoints import condition_names_with

        about = self._snapshot.description
        own = (*about.info, *(name for name, _ in about.outcomes))
        known = condition_names_with(own, action=not (about.choices or about.bounds))
        return [(), *hint(f"names: {' '.join(known)}", width)]

    def _row(self, item: Any, width: int, *, selected: bool) -> Row:
        on, text = bool(item["on"]), decoded(item["text"])
        hits = f"{int(item['hits']):,} hits" if item["hits"] != 1 else "1 hit"
        return (
            styled("▌" if selected else " ", ACCENT),
            styled(f"{int(item['number']):>2} ", FAINT),
            styled(f"{SIGNS.dot if on else SIGNS.neutral} ", ORANGE if on else FAINT),
            styled(fit(text, max(0, width - 6 - HITS)), BRIGHT if on else FAINT),
            styled(f"{hits if on or item['hits'] else 'off':>{HITS}}", SOFT),
        )
