"""Draws the screen: the header, the selected view, the timeline of a paused environment, and the footer."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from rich.segment import Segment
from textual.events import Click
from textual.widget import Widget

from ...envs.fields import Array
from ...training.telemetry.records import Phase
from ...training.telemetry.snapshot import Snapshot, ViewRequest
from ..connections.session_group import SeenSession, slowest
from ..drawing.numbers import age, whole
from ..drawing.plain import PlainSwitcher
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
    Row,
    blank,
    spread,
    styled,
    width_of,
)
from ..drawing.widgets import TextLines
from ..keys import shown as key_shown
from ..messages import MemberChosen
from ..views import (
    BaseView,
    DiagnosisView,
    EnvironmentView,
    LearningView,
    LogView,
    MembersView,
    SummaryView,
    TimelineView,
    TimingView,
    ViewUpdate,
    WorkersView,
)
from ..views.header_footer import Tabs, head, system
from ..views.members import total_rate
from ..views.status_message import failed_with_boards, failure_rows
from .debugger import EnvironmentDebugger
from .key_line import Situation, key_line
from .refresh import RefreshScheduler, interval
from .scrubber import marks, scrubber, strips
from .state import AppState

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


FAILURE_SHARE, OUTPUT_SHARE = 8, 4
"""The error of a failed session, and the output of a script that steps nothing, take at most one of so many lines of
the screen."""
STRIPS_FROM = 36
"""Lines of the screen from which on the view of an environment has strips of its last steps."""
OUTPUT_AFTER = 4.0
"""Seconds without a step after which the last lines of a script's output are shown below the boards."""


class Painter:
    """Draws what the session is and what the user has selected; each part as often as the scheduler allows.

    Args:
        state: What the app shows.
        debugger: Which step is shown.
        scheduler: How often each part is drawn.
        directory: Returns the folder of the session once it is known.
        colors: Whether colors alone distinguish pieces.

    Attributes:
        grid: The summary.
        diagnosis: What is wrong.
        curves: The learning curves.
    """

    def __init__(
        self,
        state: AppState,
        debugger: EnvironmentDebugger,
        scheduler: RefreshScheduler,
        directory: Callable[[], Path | None],
        *,
        colors: bool,
    ) -> None:
        self._state, self._debugger, self._scheduler = state, debugger, scheduler
        self.grid, self.output, self.curves = SummaryView(colors=colors), LogView(directory), LearningView()
        self._environment = environment = EnvironmentView(colors=colors)
        self.diagnosis = DiagnosisView()
        self.steps = TimelineView()
        own = (TimingView(), self.steps, self.curves, WorkersView(), self.diagnosis, self.output, MembersView())
        views = (self.grid, environment, *own)
        self._views: dict[str, BaseView] = {str(view.id): view for view in views}
        self._switcher = PlainSwitcher(*views, id="views", initial=state.view)
        self._head, self._tabs, self._timeline = TextLines(id="head"), Tabs(), TextLines(id="timeline")
        self._members = MemberTabs()
        self._status, self._keys = TextLines(id="status"), TextLines(id="keys")
        self._drawn_strips: tuple[object, list[Row]] = None, []

    def widgets(self) -> Iterator[Widget]:
        """Yield what is on the screen, from top to bottom."""
        yield from (self._head, self._members, self._tabs, self._switcher, self._timeline, self._status, self._keys)

    @property
    def view(self) -> BaseView:
        """The selected view."""
        return self._views[self._state.view]

    def show_view(self) -> None:
        """Show the selected view in place of another."""
        self._switcher.current = self._state.view

    def restyle(self, *, colors: bool) -> None:
        """Forget what was drawn in another theme, or with other characters or colors."""
        self._drawn_strips = None, []
        for view in self._views.values():
            view.restyle(colors=colors)

    def request(self) -> ViewRequest:
        """Return what the screen needs of the session."""
        return self._debugger.extend(self.view.request(self._state.env))

    def draw(self) -> None:
        """Draw the view, and what else is due."""
        snapshot = self._state.current()
        if snapshot is None:
            self.draw_header()
            return
        numbers = self._scheduler.due("figures", interval("figures"))
        snapshot = self._debugger.as_shown(snapshot)
        details = self._scheduler.due("details", interval("grid")) or numbers or self._debugger.moment_changed(snapshot)
        state, debugger = self._state, self._debugger
        self.view.show(
            ViewUpdate(
                snapshot,
                time.time(),
                state.env,
                numbers,
                state.curves,
                debugger.inspecting,
                details,
                state.members,
                state.selected,
                debugger.age,
            )
        )
        if numbers or self._scheduler.beside == 1:
            self._draw_timeline(snapshot)
        if numbers:
            self.draw_header()

    @property
    def plays(self) -> bool:
        """Whether pictures of a running environment in large are shown, of which each needs no figures."""
        state = self._state
        running = state.phase is Phase.RUNNING and not self._debugger.in_past
        return running and self.view is self._environment and self._environment.in_large

    def show_picture(self, pixels: Array) -> None:
        """Show a newer picture of the environment."""
        if self.plays:
            self._environment.show_picture(pixels)

    @property
    def overdue(self) -> bool:
        """Whether the last snapshot came before numbers were due, and they are due now."""
        return self._scheduler.overdue("figures", "details")

    def _draw_timeline(self, snapshot: Snapshot) -> None:
        """Draw which step is shown; if the session has failed, draw the error in its place."""
        width, height = self._switcher.app.size
        failed = failed_with_boards(snapshot)
        output: list[Row] = []
        if self._state.view != "logs" and self._state.idle(time.time()) >= OUTPUT_AFTER:
            output = self.output.last_rows(snapshot, width, height // OUTPUT_SHARE)
        strip = self._strips(snapshot, width) if self._state.view == "environment" and height >= STRIPS_FROM else []
        self._timeline.display = self._debugger.can_travel or failed or bool(output or strip)
        if failed:
            rows = failure_rows(snapshot, width, max(1, height // FAILURE_SHARE))
            self._timeline.styles.height = len(rows)
            self._timeline.show(rows)
        elif output:
            self._timeline.styles.height = len(output)
            self._timeline.show(output)
        elif self._debugger.can_travel or strip:
            shown: list[Row] = []
            if self._debugger.can_travel:
                moment, back = self._debugger.moment, self._debugger.back
                shown = scrubber(snapshot.description, moment, snapshot.line, back, width)
            self._timeline.styles.height = len(strip) + len(shown) if strip else None  # one line in low terminals
            self._timeline.show([*shown[:1], *strip, *shown[1:]])

    def _strips(self, snapshot: Snapshot, width: int) -> list[Row]:
        """Return strips of the last steps of the environment, with their timeline if nothing else shows it."""
        line, travels = snapshot.line, self._debugger.can_travel
        if line is None:
            return []
        key = (snapshot.generation, snapshot.focus, snapshot.seat, line.now, width, travels)
        if self._drawn_strips[0] != key:
            rows = strips(snapshot.description, line, width)
            self._drawn_strips = key, [*rows, *([marks(line, None, width)] if rows and not travels else [])]
        return self._drawn_strips[1]

    def draw_header(self) -> None:
        """Draw the first lines."""
        snapshot = self._state.current()
        self._head.show([head(snapshot, self._head.size.width, self._doing())])
        page, count = self.view.pages
        note = f"page {page:,}/{count:,}" if count > 1 else ""
        if self._state.members:
            self._members.draw(self._state.members, self._state.selected, together=self._state.view == "members")
        self._tabs.draw(self._state.view, self._state.env, snapshot, note)

    def _doing(self) -> str:
        """Return what a session does before its first snapshot, and a script whose shown session has ended."""
        if self._state.snapshot is None:
            return self._state.starting
        if self._state.runs_script and self._state.phase.over:
            step = self._state.units.step
            return self._state.end or f"no {step} for {age(self._state.idle(time.time()))}"
        return ""

    def draw_footer(self, note: Row | None, controller: str, unavailable: Callable[[str], str]) -> None:
        """Draw the last lines.

        Args:
            note: What is drawn in place of the numbers of the machine, or of the keys where there is only one line.
            controller: The viewer that has control, if it is another.
            unavailable: Returns why a command cannot be executed; an empty text if it can.
        """
        low, width, state = not self._status.display, self._keys.size.width, self._state
        travels, pages = self._debugger.can_travel, self.view.pages[1]
        several = bool(state.members)
        past = self._debugger.in_past
        situation = Situation(state.phase, state.view, state.units.env, travels, state.replay, pages, several, past)
        machine = system(self._state.snapshot, self._scheduler.cost, width, controller)
        self._status.show([note if note and not low else machine])
        self._keys.show([note if note and low else key_line(width, situation, unavailable)])
