"""The dialog that lists the curves: shows, hides, moves and pins them, and switches their scales."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType

from ..curve_options import CurveOptions
from ..drawing.panels import FRAME
from ..drawing.styles import ACCENT, BRIGHT, FAINT, GREEN, SIGNS, SOFT, Row, fit, styled
from ..views.figures import hint
from .dialog import PanelDialog, first_shown

MOST_COLUMNS, SCALE = 72, 12
KEYS = (
    "Enter large · Space shows, hides · Shift+↑ ↓ or u d moves · p beside boards · y scale · r resets all · Esc closes"
)


class CurveList(PanelDialog[str]):
    """Lists all curves in order. What is changed here applies at once.

    Args:
        names: The names of all curves in their usual order.
        usually_log: Those that have logarithmic axes unless the user says otherwise.
        options: Returns what the user has selected.
        change: Selects something else.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "Close"),
        Binding("enter", "enlarge", "Large"),
        Binding("up", "select(-1)", "Select"),
        Binding("down", "select(1)", "Select"),
        Binding("pageup", "select(-10)", "Select"),
        Binding("pagedown", "select(10)", "Select"),
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
        super().__init__("curves")
        self._names, self._usually_log, self._options, self._change = names, usually_log, options, change
        self._selected = 0

    @property
    def _curve(self) -> str:
        """The selected curve."""
        return self._options().arranged(self._names)[self._selected]

    def action_select(self, by: int) -> None:
        """Select another curve."""
        self._selected = min(len(self._names) - 1, max(0, self._selected + by))
        self.draw()

    def action_move(self, by: int) -> None:
        """Move the selected curve."""
        self._apply(self._options().moved(self._names, self._curve, by))
        self.action_select(by)

    def action_show_or_hide(self) -> None:
        """Hide the selected curve, or show it again."""
        self._apply(self._options().toggled(self._curve))

    def action_enlarge(self) -> None:
        """Close with the selected curve, which then takes the whole screen."""
        if self._curve not in self._options().hidden:
            self.dismiss(self._curve)

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

    def draw(self) -> None:
        """Draw the list, scrolled to the selected curve."""
        width, tall = min(self.size.width, MOST_COLUMNS), max(1, self.size.height - 2)
        inner = max(1, width - FRAME)
        foot = [(), *hint(KEYS, inner)] if tall > 2 * len(hint(KEYS, inner)) else []
        room = max(1, tall - len(foot))
        options = self._options()
        order = options.arranged(self._names)
        first = first_shown(self._selected, room, len(order))
        rows = [self._row(options, at, order[at], inner) for at in range(first, min(len(order), first + room))]
        rows += foot
        note = f"{sum(name not in options.hidden for name in order)} of {len(order)} shown"
        self.frame("Curves", rows, width, note)

    def _row(self, options: CurveOptions, at: int, name: str, width: int) -> Row:
        shown, selected = name not in options.hidden, at == self._selected
        log = options.is_log(name, usually=name in self._usually_log)
        scale = " ".join(filter(None, ("pinned" if name in options.pinned else "", "log" if log else "")))
        return (
            styled("▌" if selected else " ", ACCENT),
            styled(f"{SIGNS.good if shown else ' '} ", GREEN),
            styled(
                fit(name, max(0, width - 3 - SCALE)), (BRIGHT if selected else SOFT) if shown else FAINT, bold=selected
            ),
            styled(f"{scale:>{SCALE}}", SOFT),
        )
