"""Asks for a number, or for words, on the bottom line."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, ClassVar, Literal

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.events import Key
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Input, Label

from ...envs.printable import printable


class Prompt(ModalScreen[str | None]):
    """What was typed, or None if the person thought better of it.

    Args:
        question: What stands before the line.
        kind: What may be typed.
    """

    BINDINGS: ClassVar[list[BindingType]] = [("escape", "cancel", "Cancel")]

    def __init__(self, question: str, kind: Literal["integer", "text"] = "integer") -> None:
        super().__init__()
        self._question = question
        self._kind = kind

    def compose(self) -> ComposeResult:
        """A question and a line."""
        most = 7 if self._kind == "integer" else 100
        hint = "Enter accepts, Esc cancels"
        with Horizontal():
            yield Label(printable(self._question), markup=False)
            yield Input(type=self._kind, max_length=most, placeholder=hint, select_on_focus=False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Answer with what was typed."""
        self.dismiss(event.value)

    def action_cancel(self) -> None:
        """Answer with nothing."""
        self.dismiss(None)


class KeyedInput(Input):
    """A line to type in; while it is empty, some keys are no letters of it and do something else.

    Args:
        keys: Their names.
        **options: As of any line.
    """

    class Pressed(Message):
        """One of these keys was pressed."""

        def __init__(self, key: str) -> None:
            super().__init__()
            self.key = key

    def __init__(self, keys: Collection[str], **options: Any) -> None:
        super().__init__(**options)
        self._free = frozenset(keys)

    async def _on_key(self, event: Key) -> None:
        """Decide here, where all keys come one after the other: at the app's bindings, letters may be on their way."""
        if self.value or event.key not in self._free:
            await super()._on_key(event)
            return
        event.stop()
        event.prevent_default()
        self.post_message(self.Pressed(event.key))
