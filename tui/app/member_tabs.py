"""The line with the names of all sessions of a group, with their steps per second together."""

from __future__ import annotations

from collections.abc import Sequence

from rich.segment import Segment
from textual.events import Click

from ..connections.session_group import SeenSession, slowest
from ..drawing.numbers import whole
from ..drawing.styles import (
    ACCENT,
    BRIGHT,
    FAINT,
    GROUND,
    RAISED,
    RED,
    SOFT,
    TEXT,
    YELLOW,
    blank,
    spread,
    styled,
    width_of,
)
from ..drawing.widgets import TextLines
from ..keys import shown as key_shown
from ..messages import MemberChosen
from ..views.members import total_rate

SLOWEST = " slowest"


class MemberTabs(TextLines):
    """The names of the sessions; a click selects one. The selected one is always among those that fit."""

    def __init__(self) -> None:
        super().__init__(id="members-tabs")
        self._spans: list[tuple[int, int, int | None]] = []

    def draw(self, members: Sequence[SeenSession], selected: int, *, together: bool) -> None:
        """Show the names, and mark the selected one, or all if they are shown `together`."""
        self.display = True
        width, slow = self.size.width, slowest(members)
        tail = (styled(f"{whole(total_rate(members))} steps/s together ", TEXT),)
        if width_of(tail) > width // 3:
            tail = (blank(1),)
        names = [f" {member.label}{SLOWEST if index == slow else ''} " for index, member in enumerate(members)]
        row: list[Segment] = []
        self._spans = []

        def add(label: str, index: int | None, color: str, *, active: bool) -> None:
            at, ground = width_of(tuple(row)), RAISED if active else GROUND
            row.append(styled("▌" if active else " ", ACCENT, ground=ground))
            row.append(styled(label, BRIGHT if active else color, ground=ground, bold=active))
            self._spans.append((at, width_of(tuple(row)), index))

        add(" All ", None, SOFT, active=together)
        row.append(styled(f"{key_shown('members')} ", FAINT))
        room = width - width_of(tuple(row)) - width_of(tail) - 2
        first = 0
        while first < selected and sum(len(name) + 1 for name in names[first : selected + 1]) > room:
            first += 1
        for index in range(first, len(names)):
            if width_of(tuple(row)) + len(names[index]) + width_of(tail) + 1 > width:
                break
            color = YELLOW if index == slow else RED if members[index].failed else SOFT
            add(names[index], index, color, active=index == selected and not together)
        self.show([spread(tuple(row), tail, width)])

    def on_click(self, event: Click) -> None:
        """Select the session that was clicked."""
        for begin, end, index in self._spans:
            if begin <= event.x < end:
                self.post_message(MemberChosen(index))
