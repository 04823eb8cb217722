"""All keys, grouped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from textwrap import wrap
from typing import ClassVar, TypeAlias

from textual.binding import BindingType

from ...training.units import Units
from ..drawing.panels import BORDER, beside
from ..drawing.styles import ACCENT, BRIGHT, FAINT, SOFT, Row, padded, styled, width_of
from ..keys import HelpEntry, help_entries
from .dialog import PanelDialog

Reason: TypeAlias = Callable[[str], str]

SHOWN = 14
COLUMN = 44


class HelpDialog(PanelDialog[None]):
    """Lists the keys, in the words of the session's trainer.

    Args:
        units: The words.
        unavailable: Returns why a command cannot be executed; an empty text if it can.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape,question_mark,q,enter,space", "dismiss", "Close"),
        ("down", "scroll(1)", "Down"),
        ("up", "scroll(-1)", "Up"),
        ("pagedown", "scroll(8)", "Further down"),
        ("pageup", "scroll(-8)", "Further up"),
    ]

    def __init__(self, units: Units, unavailable: Reason) -> None:
        super().__init__()
        self._units, self._unavailable = units, unavailable
        self._first = 0

    def draw(self) -> None:
        """Draw the keys."""
        self.action_scroll(0)

    def action_scroll(self, by: int) -> None:
        """Scroll, if not all lines fit."""
        width, tall = min(self.size.width, 2 * COLUMN), max(1, self.size.height - 2)
        rows = help_rows(width - BORDER, tall, self._units, self._unavailable)
        width = min(width, max(map(width_of, rows)) + BORDER)
        last = max(0, len(rows) - tall)
        self._first = min(last, max(0, self._first + by))
        note = "↑ ↓ more   Esc closes" if last else "Esc closes"
        self.show_bordered("Keys", rows[self._first : self._first + tall], width, note)


def help_rows(width: int, height: int, units: Units, unavailable: Reason = lambda _: "") -> list[Row]:
    """Return the groups below each other, or in two columns if they do not fit, and why some commands are grey."""
    entries = help_entries()
    blocks = [_block(units.translate(group), lines, units, unavailable) for group, lines in entries.items()]
    names = (name for lines in entries.values() for line in lines for name in line.names)
    reasons = dict.fromkeys(filter(None, map(unavailable, names)))
    foot: list[Row] = [
        (styled(line, SOFT),) for reason in reasons for line in wrap(f"Unavailable (grey): {reason}", width)
    ]
    total = sum(map(len, blocks)) + len(blocks) - 1 + len(foot)
    if total > height and width >= 64:
        halves = [(_joined(blocks[:count]), _joined(blocks[count:])) for count in range(1, len(blocks))]
        half = width // 2
        return [*beside(min(halves, key=lambda pair: max(map(len, pair))), [half, width - half]), *foot]
    return [*_joined(blocks), *foot]


def _joined(blocks: list[list[Row]]) -> list[Row]:
    return [row for block in blocks for row in (*block, ())][:-1]


def _block(group: str, entries: Sequence[HelpEntry], units: Units, unavailable: Reason) -> list[Row]:
    heading: Row = (styled(group, ACCENT, bold=True),)
    return [heading, *(_line(entry, units.translate(entry.text), unavailable) for entry in entries)]


def _line(entry: HelpEntry, text: str, unavailable: Reason) -> Row:
    """Return keys and their description. If each key has a word of its own, only unavailable ones are grey."""
    grey = [bool(unavailable(name)) for name in entry.names]
    shown, words = entry.shown.split(" "), text.split(", ")
    if len({len(grey), len(shown), len(words)}) > 1:
        grey, shown, words = [all(grey)], [entry.shown], [text]
    letters = [styled(f"{key} ", FAINT if off else BRIGHT) for key, off in zip(shown, grey, strict=True)]
    said = [
        styled(word if at == 0 else f", {word}", FAINT if off else SOFT)
        for at, (word, off) in enumerate(zip(words, grey, strict=True))
    ]
    return (*padded(tuple(letters), SHOWN), *said)
