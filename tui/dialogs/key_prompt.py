"""Waits for one key on the bottom line."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.events import Key
from textual.widgets import Label

from ...envs.printable import printable
from ..drawing.plain import Modal


class KeyPrompt(Modal[str | None]):
    """The result is the name of the key that the user presses, or None for Escape.

    Args:
        question: What the key is for.
    """

    def __init__(self, question: str) -> None:
        super().__init__()
        self._question = question

    def compose(self) -> ComposeResult:
        """The question."""
        yield Label(printable(f" Press the {self._question}; Esc cancels "), markup=False)

    def on_key(self, event: Key) -> None:
        """Close with the key."""
        event.stop()
        self.dismiss(None if event.key == "escape" else event.key)
