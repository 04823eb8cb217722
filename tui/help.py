"""All keys, grouped."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import ModalScreen

from .ink import ACCENT, BRIGHT, SOFT, Row, blank, fit, part, width_of
from .keys import help_groups
from .lines import Panel

SHOWN = 12


class Help(ModalScreen[None]):
    """Shows the table of keys until a key closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape,question_mark,q,enter,space", "dismiss", "Close")]

    def compose(self) -> ComposeResult:
        """One panel."""
        yield Panel("Keys", id="help")

    def on_mount(self) -> None:
        """Fill it for the size of the terminal."""
        self._fill()

    def on_resize(self) -> None:
        """Fill it for another size."""
        self._fill()

    def _fill(self) -> None:
        panel = self.query_one("#help", Panel)
        width, height = self.size
        panel.show(help_rows(min(width, 132) - 4, height - 2))
        panel.caption("Keys", "Esc closes")
        panel.refresh(layout=True)


def help_rows(width: int, height: int) -> list[Row]:
    """Return the groups below each other, or side by side where they would not fit and there is room."""
    blocks = [_block(group, entries) for group, entries in help_groups().items()]
    total = sum(map(len, blocks)) + len(blocks) - 1
    if total <= height or width < 72:
        rows = [row for block in blocks for row in (*block, ())][:-1]
        return rows[: max(1, height)]
    half = -(-total // 2)
    left: list[Row] = []
    while blocks and len(left) + len(blocks[0]) <= half + 1:
        left += [*blocks.pop(0), ()]
    right = [row for block in blocks for row in (*block, ())][:-1]
    return side_by_side(left, right, width)[: max(1, height)]


def _block(group: str, entries: list[tuple[str, str]]) -> list[Row]:
    return [
        (part(group, ACCENT, bold=True),),
        *((part(fit(shown, SHOWN), BRIGHT), part(title, SOFT)) for shown, title in entries),
    ]


def side_by_side(left: list[Row], right: list[Row], width: int) -> list[Row]:
    """Return two columns of rows as one."""
    half = width // 2
    rows = []
    for index in range(max(len(left), len(right))):
        one = left[index] if index < len(left) else ()
        other = right[index] if index < len(right) else ()
        rows.append((*one, blank(half - width_of(one)), *other))
    return rows
