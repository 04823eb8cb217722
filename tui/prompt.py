"""Asks for a number on the bottom line."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.screen import ModalScreen
from textual.widgets import Input, Label


class NumberPrompt(ModalScreen[int | None]):
    """A number, or None if the person thought better of it."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape", "cancel", "Cancel")]

    def __init__(self, question: str) -> None:
        super().__init__()
        self._question = question

    def compose(self) -> ComposeResult:
        """A question and a field that takes digits."""
        with Horizontal():
            yield Label(self._question)
            yield Input(type="integer", max_length=7, placeholder="Enter accepts, Esc cancels", select_on_focus=False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Answer with the number, if it is one."""
        self.dismiss(int(event.value) if event.value.lstrip("+-").isdigit() else None)

    def action_cancel(self) -> None:
        """Answer with nothing."""
        self.dismiss(None)
