"""All keys, grouped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import ModalScreen

from ...training.units import Units
from ..drawing.ink import ACCENT, BRIGHT, SOFT, Row, fit, part, width_of
from ..drawing.lines import Lines
from ..drawing.panels import beside, framed
from ..keys import help_entries

SHOWN = 14
COLUMN = 44


class Help(ModalScreen[None]):
    """Shows the table of keys until a key closes it, in the words of the session's trainer."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape,question_mark,q,enter,space", "dismiss", "Close")]

    def __init__(self, units: Units) -> None:
        super().__init__()
        self._units = units
        self._lines = Lines(id="help")

    def compose(self) -> ComposeResult:
        """One panel."""
        yield self._lines

    def on_resize(self) -> None:
        """Fill it for the size of the terminal."""
        width, height = min(self.size.width, 2 * COLUMN), self.size.height
        rows = help_rows(width - 4, height - 2, self._units)
        width = min(width, max(map(width_of, rows)) + 4)
        self._lines.styles.width, self._lines.styles.height = width, len(rows) + 2
        self._lines.show(framed("Keys", rows, width, len(rows) + 2, "Esc closes"))


def help_rows(width: int, height: int, units: Units) -> list[Row]:
    """Return the groups below each other, or side by side where they would not fit and there is room."""
    said = {
        units.said(group): [(keys, units.said(text)) for keys, text in entries]
        for group, entries in help_entries().items()
    }
    blocks = [_block(group, entries) for group, entries in said.items()]
    total = sum(map(len, blocks)) + len(blocks) - 1
    if total > height and width >= 64:
        halves = [(_joined(blocks[:count]), _joined(blocks[count:])) for count in range(1, len(blocks))]
        half = width // 2
        return beside(min(halves, key=lambda pair: max(map(len, pair))), [half, width - half])[: max(1, height)]
    return _joined(blocks)[: max(1, height)]


def _joined(blocks: list[list[Row]]) -> list[Row]:
    return [row for block in blocks for row in (*block, ())][:-1]


def _block(group: str, entries: Sequence[tuple[str, str]]) -> list[Row]:
    heading: Row = (part(group, ACCENT, bold=True),)
    return [heading, *((part(fit(shown, SHOWN), BRIGHT), part(title, SOFT)) for shown, title in entries)]
