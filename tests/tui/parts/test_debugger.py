"""The debugger: which step of which environment is shown, and what the app requests for it."""

from dataclasses import replace

import numpy as np
import pytest

from pac.training.telemetry.blocks import TelemetryReader
from pac.training.telemetry.moments import MomentSource, RecentSteps
from pac.training.telemetry.records import Notice, Phase
from pac.training.telemetry.snapshot import ViewRequest, take_snapshot
from pac.tui.app.debugger import EnvironmentDebugger

NOW = 100
FOCUSED = ViewRequest(focus=2, count=1)


@pytest.fixture
def debugger(state, host):
    """A debugger that shows environment 3."""
    state.view, state.env = "environment", 2
    return EnvironmentDebugger(state, host)


@pytest.fixture
def pause(state, change, debugger):
    """Return a function that pauses the session at step `now`; episodes ended `ends` steps back."""

    def paused(*ends: int, now: int = NOW) -> None:
        line = RecentSteps(now, np.zeros(50, np.uint8), np.zeros(50, np.float32))
        for back in ends:
            line.ends[len(line.ends) - 1 - back] = 1
        change(phase=Phase.PAUSED, line=line)
        debugger.as_shown(state.snapshot)

    return paused


def test_a_running_session_has_no_past(debugger):
    """Time travel needs a pause."""
    debugger.travel(-1)
    assert (debugger.can_travel, debugger.back) == (False, 0)


@pytest.mark.parametrize(
    ("moves", "back"), [((-1,), 1), ((-10, 1), 9), ((-500,), 50), ((-3, 500), 0), ((-1, -1, 1), 1)]
)
def test_steps_back_are_limited_to_what_is_stored(debugger, pause, moves, back):
    """Each move adds up, between the oldest stored step and the newest."""
    pause()
    for by in moves:
        debugger.travel(by)
    assert debugger.back == back


def test_an_end_of_an_episode_has_two_states(debugger, pause):
    """Going back visits the first state of the next episode before the last state of the ended one."""
    pause(1)
    seen = []
    for by in (-1, -1, -1, 1, 1, 1):
        debugger.travel(by)
        request = debugger.extend(FOCUSED)
        seen.append((request.back, request.last))
    assert seen == [(1, 0), (1, NOW), (2, 0), (1, NOW), (1, 0), (0, 0)]


def test_who_plays_sees_the_next_episode(debugger, pause):
    """While the user plays, the last state of an ended episode is not requested."""
    pause(0)
    assert debugger.extend(FOCUSED).last == NOW
    debugger.play()
    assert debugger.extend(FOCUSED).last == 0
    debugger.stop_playing()
    assert debugger.extend(FOCUSED).last == NOW


def test_a_new_step_is_shown(debugger, pause):
    """When the session has taken a step, the newest step is shown again."""
    pause()
    debugger.travel(-5)
    pause(now=NOW + 1)
    assert debugger.back == 0


def test_the_newest_step_is_one_key_away(debugger, pause):
    """`go_to_newest` reports whether an earlier step was shown."""
    pause()
    debugger.travel(-5)
    assert debugger.go_to_newest()
    assert not debugger.go_to_newest()


def test_a_past_step_is_shown_until_the_next_one_is_known(state, change, debugger, pause, fake):
    """While a step is computed, the screen keeps the last one that was complete."""
    fake.write("detail", env=2, step=NOW, now=NOW, source=MomentSource.NOW, full=1)
    pause()
    debugger.travel(-1)
    first = _moment(fake, step=NOW - 1, source=MomentSource.REBUILT, reward=7.0)
    change(moment=first)
    assert debugger.as_shown(state.snapshot).environments["reward"][2] == 7.0
    debugger.travel(-1)
    change(moment=replace(first, step=NOW - 2, source=MomentSource.WORKING))
    assert debugger.as_shown(state.snapshot).environments["reward"][2] == 7.0
    change(moment=replace(first, step=NOW - 2, values={**first.values, "reward": 3.0}))
    assert debugger.as_shown(state.snapshot).environments["reward"][2] == 3.0


def _moment(fake, **record):
    """Return a moment of environment 3."""
    fake.write("moment", env=2, now=NOW, full=1, **record)
    fake.say(phase=Phase.PAUSED)
    back = NOW - record["step"]
    return take_snapshot(TelemetryReader(fake.directory), ViewRequest(focus=2, back=back)).moment


def test_inspecting_requests_details(debugger, state):
    """In the summary, of the selected environment."""
    state.view = "summary"
    debugger.inspect(on=True)
    request = debugger.extend(ViewRequest(count=8))
    assert (request.focus, request.detail) == (2, True)
    debugger.inspect(on=False)
    assert debugger.extend(ViewRequest(count=8)).focus is None


def test_what_is_known_is_shown_until_the_next_step(debugger, state, change, fake):
    """Of an environment that was inspected before its last step with its age, of another one what the table has."""
    fake.write("detail", env=2, step=NOW, now=NOW, source=MomentSource.NOW, full=1, episode_return=4.0)
    fake.write("environments", episode_return=7.0)
    debugger.inspect(on=True)
    change(moment=_inspected(fake).moment, focus=2, environments=_inspected(fake).environments)
    assert debugger.as_shown(state.snapshot).moment.values["episode_return"] == 4.0
    change(moment=None)
    assert debugger.as_shown(state.snapshot).moment.values["episode_return"] == 4.0
    assert debugger.age > 0
    change(focus=3)
    shown = debugger.as_shown(state.snapshot).moment
    assert (shown.env, shown.values["episode_return"], shown.observation, debugger.age) == (3, 7.0, None, 0)
    change(generation=state.snapshot.generation + 1, focus=2)
    assert debugger.as_shown(state.snapshot).moment.values["episode_return"] == 7.0


def _inspected(fake):
    """Return the snapshot for the inspector of environment 3."""
    return take_snapshot(TelemetryReader(fake.directory), ViewRequest(focus=2, detail=True))


def test_seats_are_selected_in_turn(debugger, state, change):
    """After the last comes the first; an environment with one seat has nothing to select."""
    debugger.select_seat(1)
    assert state.seat == 0
    change(description=replace(state.snapshot.description, players=3))
    debugger.select_seat(-1)
    assert state.seat == 2
    assert debugger.extend(FOCUSED).seat == 2


def test_a_breakpoint_that_hits_is_reported_once(debugger, state, change):
    """With the environment at which it has paused the training."""
    assert debugger.new_break(state.snapshot) is None
    environments, breakpoints = state.snapshot.environments.copy(), state.snapshot.breakpoints
    environments["notice"][4] = Notice.BREAK
    hit = np.zeros(1, breakpoints.dtype)
    hit["hits"] = 1
    change(environments=environments, breakpoints=hit)
    assert debugger.new_break(state.snapshot) == 4
    assert debugger.new_break(state.snapshot) is None


def test_what_cannot_be_replayed_cannot_branch(state, change, debugger, pause, fake):
    """The reason is that of the shown step, or that it is the end of an episode."""
    assert debugger.why_no_copy == "pause first"
    pause(2)
    assert not debugger.in_past
    debugger.travel(-1)
    assert debugger.why_no_copy == "this step is still being replayed"
    for source, reason in ((MomentSource.REBUILT, ""), (MomentSource.MISSING, "not deterministic")):
        change(moment=_moment(fake, step=NOW - 1, source=source, note=reason.encode()))
        debugger.as_shown(state.snapshot)
        assert debugger.why_no_copy == reason
    change(description=replace(state.snapshot.description, begins_at_once=True, host="elsewhere"))
    assert "the session runs on elsewhere" in debugger.why_no_copy
