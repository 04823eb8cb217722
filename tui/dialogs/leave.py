"""Asks whether to stop a session or to detach from it."""

from __future__ import annotations

from typing import ClassVar, Literal, TypeAlias

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import ModalScreen

from ..drawing.panels import FRAME, framed
from ..drawing.styles import BRIGHT, SOFT, Row, fit, styled, width_of
from ..drawing.widgets import TextLines
from ..views.figures import wrapped

KEY = 8
Choice: TypeAlias = Literal["stop", "detach"]


class LeaveDialog(ModalScreen[Choice | None]):
    """Stop, detach or stay.

    Args:
        name: The run's name.
        watched: Whether it is a script that is watched.
        stops: Whether Enter stops it, and does not detach.
        then: The run that is gone to, if one is.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        ("s", "dismiss('stop')", "Stop"),
        ("d", "dismiss('detach')", "Detach"),
        ("enter", "accept", "The usual one"),
        ("escape,q", "dismiss(None)", "Stay"),
    ]

    def __init__(self, name: str, *, watched: bool, stops: bool, then: str = "") -> None:
        super().__init__()
        self._usual: Choice = "stop" if stops else "detach"
        self._name, self._then = name, then
        self._watched = watched
        self._lines = TextLines(id="leave")

    def compose(self) -> ComposeResult:
        """One panel."""
        yield self._lines

    def action_accept(self) -> None:
        """Do the usual."""
        self.dismiss(self._usual)

    def on_resize(self) -> None:
        """Fill it for the size of the terminal."""
        stop = "stop watching: the script trains on, unseen" if self._watched else "stop: save, end the session"
        choices = [("s", stop, "stop"), ("d", f"detach: pac-tui attach {self._name} comes back", "detach")]
        said = [(f"{key} Enter" if choice == self._usual else key, text) for key, text, choice in choices]
        rows: list[Row] = [
            (styled(fit("" if at else key, KEY), BRIGHT), styled(line, SOFT))
            for key, text in (*said, ("Esc", "stay"))
            for at, line in enumerate(wrapped(text, self.size.width - FRAME - KEY))
        ]
        title = f"Leave {self._name} for {self._then}" if self._then else f"Leave {self._name}"
        width = min(self.size.width, max(len(title) + 2, *map(width_of, rows)) + FRAME)
        self._lines.styles.width, self._lines.styles.height = width, len(rows) + 2
        self._lines.show(framed(title, rows, width, len(rows) + 2))
