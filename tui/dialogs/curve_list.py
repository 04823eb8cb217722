"""The dialog that lists the curves: shows, hides, moves and pins them, and switches their scales."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType

from ..curve_options import CurveOptions
from ..drawing.styles import ACCENT, BRIGHT, FAINT, GREEN, SIGNS, SOFT, Row, fit, styled
from ..views.number_rows import hint
from .dialog import ListDialog

SCALE = 12
KEYS = (
    "Enter large · Space shows, hides · Shift+↑ ↓ or u d moves · p beside boards · y scale · r resets all · Esc closes"
)


class CurveList(ListDialog[str, str | None]):
    """Lists all curves in order. What is changed here applies at once.

    Args:
        names: The names of all curves in their usual order.
        usually_log: Those that have logarithmic axes unless the user says otherwise.
        options: Returns what the user has selected.
        change: Selects something else.
    """

    heading = "Curves"
    MOST_COLUMNS = 72
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("shift+up,u", "move(-1)", "Move"),
        Binding("shift+down,d", "move(1)", "Move"),
        Binding("space", "show_or_hide", "Show or hide"),
        Binding("p", "pin", "Beside boards"),
        Binding("y", "scale", "Scale"),
        Binding("r", "reset", "Reset"),
    ]

    def __init__(
        self,
        names: Sequence[str],
        usually_log: frozenset[str],
        options: Callable[[], CurveOptions],
        change: Callable[[CurveOptions], None],
    ) -> None:
        super().__init__()
        self._names, self._usually_log, self._options, self._change = names, usually_log, options, change

    @property
    def shown(self) -> Sequence[str]:
        """All curves."""
        return self._options().arranged(self._names)

    def _key(self, item: str) -> str:
        return item

    @property
    def _curve(self) -> str:
        shown = self.shown
        return shown[self.at(shown)]

    def action_move(self, by: int) -> None:
        """Move the selected curve."""
        self.selected = self._curve
        self._apply(self._options().moved(self._names, self._curve, by))

    def action_show_or_hide(self) -> None:
        """Hide the selected curve, or show it again."""
        self._apply(self._options().toggled(self._curve))

    def _take(self, item: str) -> None:
        if item not in self._options().hidden:
            self.dismiss(item)

    def action_pin(self) -> None:
        """Draw the selected curve beside boards, or no longer."""
        self._apply(self._options().pin(self._curve))

    def action_scale(self) -> None:
        """Switch the y axis of the selected curve."""
        self._apply(self._options().with_log(self._curve))

    def action_reset(self) -> None:
        """Show all curves in their usual order and with their usual scales."""
        self._apply(self._options().chosen())

    def _apply(self, options: CurveOptions) -> None:
        self._change(options)
        self.draw()

    def _foot(self, _item: str | None, width: int, _room: int) -> list[Row]:
        return [(), *hint(KEYS, width)]

    def _note(self, _at: int, count: int) -> str:
        return f"{count - len(self._options().hidden.intersection(self._names))} of {count} shown"

    def _row(self, item: str, width: int, *, selected: bool) -> Row:
        options = self._options()
        shown, log = item not in options.hidden, options.is_log(item, usually=item in self._usually_log)
        scale = " ".join(filter(None, ("pinned" if item in options.pinned else "", "log" if log else "")))
        color = (BRIGHT if selected else SOFT) if shown else FAINT
        return (
            styled("▌" if selected else " ", ACCENT),
            styled(f"{SIGNS.good if shown else ' '} ", GREEN),
            styled(fit(item, max(0, width - 3 - SCALE)), color, bold=selected),
            styled(f"{scale:>{SCALE}}", SOFT),
        )
