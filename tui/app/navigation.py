"""Navigation: which view, environment and page are shown."""

from __future__ import annotations

from typing import Protocol

from ...training.telemetry.records import MAX_STEPS_BACK
from ...training.units import plural
from .curve_commands import CurveCommands
from .debugger import EnvironmentDebugger
from .state import AppState, Host

TIMELINE = "steps"
ZOOMS = {"faster": "navigation.zoom(1)", "slower": "navigation.zoom(-1)"}
"""What the keys of the speed do in the timeline."""
PAGE_STEPS = 10
"""Steps that a page key goes through time, and lines that a time key scrolls the output."""


class PagedView(Protocol):
    """What navigation needs of every view."""

    @property
    def pages(self) -> tuple[int, int]:
        """The page that is shown, from 1, and the number of pages."""

    def turn_page(self, by: int) -> None:
        """Show the page that is `by` further."""


class GridView(Protocol):
    """What navigation needs of the summary."""

    def neighbor(self, env: int, columns: int, rows: int) -> int:
        """Return the environment that is so many columns and rows away from `env`."""


class OutputView(Protocol):
    """What navigation needs of the output."""

    def scroll_lines(self, by: int) -> None:
        """Scroll down."""

    def shift(self, by: int) -> None:
        """Scroll to the right."""

    def search(self, text: str) -> None:
        """Search a text."""

    def find(self) -> bool:
        """Go to the next match; return whether a text is searched."""


class FindingsView(Protocol):
    """What navigation needs of the diagnosis."""

    @property
    def target(self) -> tuple[str, int, str] | None:
        """What shows the selected finding: a view, in it an environment from 0 or -1, or a curve."""

    def select(self, by: int) -> None:
        """Select another finding."""


class StepsView(Protocol):
    """What navigation needs of the timeline of the last steps."""

    def zoom(self, by: int) -> None:
        """Show half the time, or twice as much if `by` is negative."""

    def move(self, columns: int) -> None:
        """Move the cursor."""

    def go(self, direction: int) -> None:
        """Go to the oldest step, or follow the newest ones."""

    def mark(self) -> None:
        """Begin a range at the cursor, or remove it."""

    def reset(self) -> bool:
        """Remove the range, or else the cursor; return whether there was one."""


class ViewSwitcher(Protocol):
    """What navigation needs of the screen."""

    @property
    def view(self) -> PagedView:
        """The selected view."""

    @property
    def grid(self) -> GridView:
        """The summary."""

    @property
    def output(self) -> OutputView:
        """The output."""

    @property
    def diagnosis(self) -> FindingsView:
        """The diagnosis."""

    @property
    def steps(self) -> StepsView:
        """The timeline of the last steps."""

    def show_view(self) -> None:
        """Show the selected view in place of another."""


class Navigation:
    """Selects views, environments and pages.

    Args:
        state: What the app shows.
        debugger: Goes through time.
        curves: Moves the cursor and zooms.
        switcher: Shows the selected view.
        host: The app.
    """

    def __init__(
        self,
        state: AppState,
        debugger: EnvironmentDebugger,
        curves: CurveCommands,
        switcher: ViewSwitcher,
        host: Host,
    ) -> None:
        self._state, self._debugger, self._curves, self._switcher, self._host = state, debugger, curves, switcher, host

    def show(self, view: str) -> None:
        """Show a view by its name."""
        self._state.view = view
        self._switcher.show_view()
        self._host.refresh_now()

    def open_environment(self, number: int) -> None:
        """Show environment `number`, from 1."""
        snapshot = self._state.snapshot
        if snapshot is not None and not 1 <= number <= snapshot.num_envs:
            names = plural(self._state.units.environment)
            self._host.notify(f"{names} are numbered 1 to {self._state.num_envs:,}", severity="warning")
            return
        self._state.env = number - 1
        self.show("environment")

    def open_selected(self) -> None:
        """Show the selected environment."""
        self.open_environment(self._state.env + 1)

    def next_tab(self, by: int) -> None:
        """Go through the summary, environments 1 to N, and the summary again."""
        count = self._state.snapshot.num_envs if self._state.snapshot is not None else 0
        here = self._state.env + 1 if self._state.view == "environment" else 0
        there = (here + by) % (count + 1)
        self.open_environment(there) if there else self.show("summary")

    def turn_page(self, by: int) -> None:
        """Show another page of the view; while paused, go through time in a view of one page."""
        view = self._switcher.view
        if self._debugger.can_travel and view.pages[1] == 1 and self._state.view != TIMELINE:
            self.travel(by * PAGE_STEPS)
        else:
            view.turn_page(by)
            self._host.refresh_now()

    def move(self, columns: int, rows: int) -> None:
        """Move the selection or the cursor; elsewhere scroll the output, go through time, or select a seat or page."""
        view = self._state.view
        if view == "summary":
            self._state.env = self._switcher.grid.neighbor(self._state.env, columns, rows)
            self._host.refresh_now()
        elif view == "logs":
            self._switcher.output.scroll_lines(rows)
            self._switcher.output.shift(columns)
            self._host.refresh_now()
        elif view == "diagnosis" and rows:
            self._switcher.diagnosis.select(rows)
            self._host.refresh_now()
        elif view == "learning" and rows:
            self._curves.zoom_in(-rows)
        elif view == TIMELINE and rows:
            self.zoom(-rows)
        elif columns:
            self.travel(columns)
        elif view == "environment":
            self._debugger.select_seat(rows)
        elif view == "workers" and rows:
            self.turn_page(rows)

    def travel(self, by: int) -> None:
        """Go through time; in the output, scroll; among the curves, move the cursor."""
        if self._state.view == "logs":
            self._switcher.output.scroll_lines(by * PAGE_STEPS)
            self._host.refresh_now()
        elif self._state.view == "learning":
            self._curves.move_cursor(by)
        elif self._state.view == TIMELINE:
            self._switcher.steps.move(by)
            self._host.refresh_now()
        else:
            self._debugger.travel(by)

    def travel_to_end(self, direction: int) -> None:
        """Go to the newest step, or to the oldest one if `direction` is negative."""
        if self._state.view == TIMELINE:
            self._switcher.steps.go(direction)
            self._host.refresh_now()
        else:
            self.travel(direction * MAX_STEPS_BACK)

    def zoom(self, by: int) -> None:
        """Show less time in the timeline of the last steps, or more if `by` is negative."""
        self._switcher.steps.zoom(by)
        self._host.refresh_now()

    def cancel(self) -> bool:
        """Remove range and cursor of the timeline of the last steps; return whether there was one."""
        return self._state.view == TIMELINE and self._switcher.steps.reset()

    def accept(self) -> None:
        """Open the selected board; in the output, go to the next match."""
        if self._state.view == "summary":
            self.open_selected()
        elif self._state.view == "logs" and self._switcher.output.find():
            self._host.refresh_now()
        elif self._state.view == TIMELINE:
            self._switcher.steps.mark()
            self._host.refresh_now()
        elif self._state.view == "diagnosis" and (target := self._switcher.diagnosis.target) is not None:
            self._open(*target)

    def _open(self, view: str, env: int, curve: str) -> None:
        """Open what shows a finding."""
        if env >= 0:
            self.open_environment(env + 1)
            return
        self.show(view)
        if curve:
            self._curves.enlarge(curve)

    def search(self, text: str) -> None:
        """Search the output."""
        self._switcher.output.search(text)
        self.show("logs")

    def show_saliency(self) -> None:
        """Show what the policy's choice depends on, or stop showing it."""
        if self._state.units.episodes and self._state.view not in {"summary", "environment"}:
            self.open_selected()
        self._debugger.show_saliency()

    def inspect(self) -> None:
        """Show everything known of the environment, or stop showing it."""
        if not self._state.units.episodes:
            word = self._state.units.environment
            self._host.notify(f"the view of a {word} already shows everything known of it", severity="warning")
        elif self._state.view in {"summary", "environment"}:
            self._debugger.inspect(on=not self._debugger.inspecting)
        else:
            self._debugger.inspect(on=True)
            self.open_selected()
