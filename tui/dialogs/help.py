"""All keys, grouped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import ModalScreen

from ...training.units import Units
from ..drawing.panels import FRAME, beside, framed
from ..drawing.styles import ACCENT, BRIGHT, SOFT, Row, fit, styled, width_of
from ..drawing.widgets import TextLines
from ..keys import help_entries

SHOWN = 14
COLUMN = 44


class HelpDialog(ModalScreen[None]):
    """Lists the keys, in the words of the session's trainer."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape,question_mark,q,enter,space", "dismiss", "Close"),
        ("down", "scroll(1)", "Down"),
        ("up", "scroll(-1)", "Up"),
        ("pagedown", "scroll(8)", "Further down"),
        ("pageup", "scroll(-8)", "Further up"),
    ]

    def __init__(self, units: Units) -> None:
        super().__init__()
        self._units = units
        self._lines = TextLines(id="help")
        self._first = 0

    def compose(self) -> ComposeResult:
        """One panel."""
        yield self._lines

    def on_resize(self) -> None:
        """Fill it for the size of the terminal."""
        self.action_scroll(0)

    def action_scroll(self, by: int) -> None:
        """Scroll, if not all lines fit."""
        width, tall = min(self.size.width, 2 * COLUMN), max(1, self.size.height - 2)
        rows = help_rows(width - FRAME, tall, self._units)
        width = min(width, max(map(width_of, rows)) + FRAME)
        last = max(0, len(rows) - tall)
        self._first = min(last, max(0, self._first + by))
        shown = rows[self._first : self._first + tall]
        self._lines.styles.width, self._lines.styles.height = width, len(shown) + 2
        note = "↑ ↓ more   Esc closes" if last else "Esc closes"
        self._lines.show(framed("Keys", shown, width, len(shown) + 2, note))


def help_rows(width: int, height: int, units: Units) -> list[Row]:
    """Return the groups below each other, or in two columns if they do not fit."""
    said = {
        units.translate(group): [(keys, units.translate(text)) for keys, text in entries]
        for group, entries in help_entries().items()
    }
    blocks = [_block(group, entries) for group, entries in said.items()]
    total = sum(map(len, blocks)) + len(blocks) - 1
    if total > height and width >= 64:
        halves = [(_joined(blocks[:count]), _joined(blocks[count:])) for count in range(1, len(blocks))]
        half = width // 2
        return beside(min(halves, key=lambda pair: max(map(len, pair))), [half, width - half])
    return _joined(blocks)


def _joined(blocks: list[list[Row]]) -> list[Row]:
    return [row for block in blocks for row in (*block, ())][:-1]


def _block(group: str, entries: Sequence[tuple[str, str]]) -> list[Row]:
    heading: Row = (styled(group, ACCENT, bold=True),)
    return [heading, *((styled(fit(shown, SHOWN), BRIGHT), styled(title, SOFT)) for shown, title in entries)]
