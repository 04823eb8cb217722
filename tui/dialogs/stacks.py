"""The dialog of stacks: where every thread of every process is, also if the training is stuck."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from textual import work
from textual.binding import Binding, BindingType
from textual.message import Message

from ...envs import PacError
from ...training.stacks import stack_lines
from ..drawing.styles import ACCENT, BRIGHT, TEXT, Row, fit_ends, styled
from ..views.number_rows import hint
from .dialog import ListDialog

COLORS = (ACCENT, BRIGHT, TEXT)


class Stacks(ListDialog[int, None]):
    """Lists the stacks of all threads of all processes, the innermost function last.

    Args:
        ask: Returns the stacks as they are now, which may take seconds.
    """

    heading, MOST_COLUMNS, FILLS = "Stacks", 10_000, True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("r", "refresh", "Again"),
        Binding("w", "write", "Write a file"),
    ]

    @dataclass
    class Answered(Message):
        """The session has answered, or cannot."""

        answer: Mapping[str, Any] | None
        error: str = ""

    def __init__(self, ask: Callable[[], Mapping[str, Any]]) -> None:
        super().__init__()
        self._ask = ask
        self._rows: list[tuple[int, str]] = []
        self._when = ""

    def on_mount(self) -> None:
        """Ask at once."""
        self.action_refresh()

    def action_refresh(self) -> None:
        """Ask again."""
        self._when = ""
        self.draw()
        self._get()

    @work(thread=True, exclusive=True)
    def _get(self) -> None:
        try:
            self.post_message(self.Answered(self._ask()))
        except PacError as error:
            self.post_message(self.Answered(None, str(error)))

    def on_stacks_answered(self, message: Answered) -> None:
        """Show the stacks."""
        self.error, self._when = message.error, time.strftime("%H:%M:%S")
        if message.answer is not None:
            try:
                self._rows = list(stack_lines(message.answer))
            except (KeyError, TypeError, ValueError) as error:
                self.error = f"the session's answer cannot be read: {type(error).__name__}: {error}"
        self.draw()

    def action_write(self) -> None:
        """Write the stacks to a file in the current folder."""
        path = Path(f"stacks-{time.strftime('%Y%m%d-%H%M%S')}.txt").absolute()
        try:
            path.write_text("".join(f"{'  ' * level}{text}\n" for level, text in self._rows))
        except OSError as error:
            self.error = f"cannot write {path}: {error.strerror}"
            self.draw()
        else:
            self.app.notify(f"saved {path}", title="Stacks")

    @property
    def shown(self) -> range:
        """The numbers of the lines."""
        return range(len(self._rows))

    def _key(self, item: int) -> int:
        return item

    def _row(self, item: int, width: int, *, selected: bool) -> Row:
        level, text = self._rows[item]
        shown = fit_ends(text, max(1, width - 2 * level)) if level > 1 else text[: max(1, width - 2 * level)]
        return (styled("  " * level), styled(shown, ACCENT if selected else COLORS[level], bold=level == 0))

    def _empty(self, width: int) -> list[Row]:
        return hint("asking all processes" if not self._when else "nothing was answered", width)

    def _note(self, at: int, count: int) -> str | Row:
        return f"{super()._note(at, count)}  {self._when or 'asking'}  r again  w write a file"
