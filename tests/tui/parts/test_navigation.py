"""Navigation: which view, environment and page is selected."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pac.training.telemetry.moments import RecentSteps
from pac.training.telemetry.records import Phase
from pac.tui.app.debugger import EnvironmentDebugger
from pac.tui.app.navigation import PAGE_STEPS, Navigation


class RecordingViews:
    """Views that note what navigation asks of them: a grid four boards wide, an output, and curves."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.matches = False
        self.pages = (1, 3)
        self.view = self.grid = self.output = self

    def show_view(self) -> None:
        """Show nothing."""

    def turn_page(self, by: int) -> None:
        self.calls.append(("page", by))

    def neighbor(self, env: int, columns: int, rows: int) -> int:
        return env + columns + 4 * rows

    def scroll_lines(self, by: int) -> None:
        self.calls.append(("scroll", by))

    def shift(self, by: int) -> None:
        self.calls.append(("shift", by))

    def search(self, text: str) -> None:
        self.calls.append(("search", text))

    def find(self) -> bool:
        return self.matches

    def move_cursor(self, by: int) -> None:
        self.calls.append(("cursor", by))

    def zoom_in(self, times: int) -> None:
        self.calls.append(("zoom", times))


@pytest.fixture
def views():
    """Views of three pages."""
    return RecordingViews()


@pytest.fixture
def debugger(state, host):
    """A debugger."""
    return EnvironmentDebugger(state, host)


@pytest.fixture
def navigation(state, debugger, views, host):
    """Navigation that starts in the summary, at environment 1."""
    return Navigation(state, debugger, views, views, host)


@pytest.mark.parametrize(
    ("start", "by", "end"),
    [
        (("summary", 0), 1, ("environment", 0)),
        (("summary", 0), -1, ("environment", 7)),
        (("environment", 7), 1, ("summary", 7)),
        (("environment", 3), -1, ("environment", 2)),
        (("timing", 3), 1, ("environment", 0)),
    ],
)
def test_tabs_go_through_the_summary_and_all_environments(navigation, state, start, by, end):
    """Eight environments and the summary, in a circle."""
    state.view, state.env = start
    navigation.next_tab(by)
    assert (state.view, state.env) == end


def test_an_environment_that_does_not_exist_is_not_opened(navigation, state, host):
    """A message says which exist."""
    for number in (0, 9):
        navigation.open_environment(number)
    assert (state.view, state.env) == ("summary", 0)
    assert host.messages == ["environments are numbered 1 to 8"] * 2


def test_arrows_move_the_selection_in_the_summary(navigation, state):
    """By boards, as the grid has them."""
    navigation.move(1, 0)
    navigation.move(0, 1)
    assert state.env == 5


def test_arrows_scroll_the_output(navigation, state, views):
    """Lines up and down, columns left and right."""
    state.view = "logs"
    navigation.move(-1, 2)
    assert views.calls == [("scroll", 2), ("shift", -1)]


def test_time_keys_scroll_the_output(navigation, state, views):
    """There is no time to travel in it."""
    state.view = "logs"
    navigation.travel(-1)
    assert views.calls == [("scroll", -PAGE_STEPS)]


def test_up_and_down_turn_the_pages_of_workers(navigation, state, views):
    """The other views have nothing to move in."""
    for view in ("workers", "timing"):
        state.view = view
        navigation.move(0, 1)
    assert views.calls == [("page", 1)]


def test_page_keys_go_through_time_where_there_is_one_page(navigation, state, views, change, debugger):
    """While paused; a view of several pages turns them."""
    change(phase=Phase.PAUSED, line=RecentSteps(100, np.zeros(50, np.uint8), np.zeros(50, np.float32)))
    state.view = "environment"
    navigation.turn_page(-1)
    assert (views.calls, debugger.back) == ([("page", -1)], 0)
    views.pages = (1, 1)
    navigation.turn_page(-1)
    assert (views.calls, debugger.back) == ([("page", -1)], PAGE_STEPS)


def test_enter_opens_the_selected_board(navigation, state):
    """From the summary."""
    state.env = 4
    navigation.accept()
    assert (state.view, state.env) == ("environment", 4)


def test_a_search_opens_the_output(navigation, state, views, host):
    """Enter then goes from match to match, if there is a search."""
    navigation.search("error")
    assert (state.view, views.calls) == ("logs", [("search", "error")])
    before = host.refreshes
    navigation.accept()
    assert host.refreshes == before
    views.matches = True
    navigation.accept()
    assert host.refreshes == before + 1


def test_inspecting_elsewhere_opens_the_environment(navigation, state, debugger):
    """A view without boards would show nothing of it."""
    state.view, state.env = "timing", 3
    navigation.inspect()
    assert (state.view, state.env, debugger.inspecting) == ("environment", 3, True)
    navigation.inspect()
    assert not debugger.inspecting


def test_a_worker_has_nothing_to_inspect(navigation, debugger, host, solver):
    """A message says so."""
    navigation.inspect()
    assert not debugger.inspecting
    assert "already shows everything" in host.messages[0]


def test_arrows_move_the_cursor_of_curves_and_zoom(navigation, state, views):
    """Left and right move it, up zooms in, down out; the keys of time move it further."""
    state.view = "learning"
    navigation.move(-1, 0)
    navigation.travel(PAGE_STEPS)
    navigation.move(0, -1)
    navigation.move(0, 1)
    assert views.calls == [("cursor", -1), ("cursor", PAGE_STEPS), ("zoom", 1), ("zoom", -1)]
