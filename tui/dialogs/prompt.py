"""Asks for a number, a text or a key on the bottom line."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, ClassVar, Literal

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.events import Key
from textual.message import Message
from textual.widgets import Input, Label

from ...envs.printable import printable
from ..drawing.plain import Modal


class Prompt(Modal[str | None]):
    """Asks a question; the result is the answer, or None if the user has canceled.

    Args:
        question: The text before the input.
        kind: What the input accepts.
        value: The text in the input at first.
    """

    BINDINGS: ClassVar[list[BindingType]] = [("escape", "cancel", "Cancel")]

    def __init__(self, question: str, kind: Literal["integer", "text"] = "integer", value: str = "") -> None:
        super().__init__()
        self._question = question
        self._kind = kind
        self._value = value

    def compose(self) -> ComposeResult:
        """The question and the input."""
        most = 7 if self._kind == "integer" else 1000
        hint = "Enter accepts, Esc cancels"
        with Horizontal():
            yield Label(printable(self._question), markup=False)
            yield Input(self._value, type=self._kind, max_length=most, placeholder=hint, select_on_focus=False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Close with the answer."""
        self.dismiss(event.value)

    def action_cancel(self) -> None:
        """Close without an answer."""
        self.dismiss(None)


class KeyPrompt(Modal[str | None]):
    """The result is the name of the key that the user presses, or None for Escape."""

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


class KeyedInput(Input):
    """An input with keys that, while it is empty, post a message instead of being typed.

    Args:
        **options: As for any input.
    """

    class Pressed(Message):
        """One of the keys was pressed while the input was empty."""

        def __init__(self, key: str) -> None:
            super().__init__()
            self.key = key

    def __init__(self, keys: Collection[str], **options: Any) -> None:
        super().__init__(**options)
        self._free = frozenset(keys)

    async def _on_key(self, event: Key) -> None:
        """Post a message or type the key. Bindings would not see characters that are still queued for the input."""
        if self.value or event.key not in self._free:
            await super()._on_key(event)
            return
        event.stop()
        event.prevent_default()
        self.post_message(self.Pressed(event.key))
