"""Asks whether to stop a session or to detach from it."""

from __future__ import annotations

from shlex import quote
from typing import ClassVar, Literal, TypeAlias

from textual.binding import BindingType

from ..drawing.panels import BORDER
from ..drawing.styles import BRIGHT, SOFT, Row, fit, styled, width_of
from ..views.number_rows import wrapped
from .dialog import PanelDialog

KEY = 8
Choice: TypeAlias = Literal["stop", "detach"]


class LeaveDialog(PanelDialog[Choice | None]):
    """Offers to stop, to detach or to stay.

    Args:
        name: The run's name.
        watched: Whether the session is a watched script.
        runs: Whether this program runs the script.
        plays: Whether the session only plays, without learning, and so has nothing to save.
        stops: Whether Enter stops the session; otherwise it detaches.
        then: The run that is opened afterwards, if any.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        ("s", "dismiss('stop')", "Stop"),
        ("d", "dismiss('detach')", "Detach"),
        ("enter", "accept", "Default"),
        ("escape,q", "dismiss(None)", "Stay"),
    ]

    def __init__(
        self, name: str, *, watched: bool, stops: bool, runs: bool = False, plays: bool = False, then: str = ""
    ) -> None:
        super().__init__()
        self._default: Choice = "stop" if stops else "detach"
        self._run, self._then = name, then
        self._watched, self._runs, self._plays = watched, runs, plays

    def action_accept(self) -> None:
        """Choose the default."""
        self.dismiss(self._default)

    def draw(self) -> None:
        """Draw the choices."""
        stop = "stop watching; the script continues" if self._watched else "stop: save and end the session"
        stop = "stop: end the evaluation" if self._plays else stop
        stop = "stop: interrupt the script, as Ctrl-C does" if self._runs else stop
        choices = [("s", stop, "stop"), ("d", f"detach; return with pac-tui attach {quote(self._run)}", "detach")]
        keys = [(f"{key} Enter" if choice == self._default else key, text) for key, text, choice in choices]
        rows: list[Row] = [
            (styled(fit("" if at else key, KEY), BRIGHT), styled(line, SOFT))
            for key, text in (*keys, ("Esc", "stay"))
            for at, line in enumerate(wrapped(text, self.size.width - BORDER - KEY))
        ]
        title = f"Leave {self._run} for {self._then}" if self._then else f"Leave {self._run}"
        width = min(self.size.width, max(len(title) + 2, *map(width_of, rows)) + BORDER)
        self.show_bordered(title, rows, width, "")
