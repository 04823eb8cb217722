"""The commands to the session: what is sent, and when."""

import pytest

from pac.envs import PacError
from pac.training.telemetry.records import Phase
from pac.tui.app.session_commands import PendingRestart, SessionCommands


@pytest.fixture
def commands(state, host):
    """Commands to a session of eight environments, whose restarts are due when the test says so."""
    made = SessionCommands(state, host.send, host)
    made.pending = PendingRestart(lambda: 0.0)
    return made


def test_a_second_press_takes_a_pause_back(commands, host, change):
    """The policy's update may delay a pause; the key still alternates."""
    commands.toggle_pause()
    commands.toggle_pause()
    commands.requested_pause = None
    change(phase=Phase.PAUSED)
    commands.toggle_pause()
    assert [name for name, _ in host.sent] == ["pause", "resume", "resume"]


@pytest.mark.parametrize(("limit", "running", "sent"), [(100, 50, 50.0), (0, 120, 60.0), (0, 0, 50.0), (1, 9, 1.0)])
def test_the_speed_limit_starts_from_the_present_speed(commands, host, change, *, limit, running, sent):
    """It is at least one step per second."""
    change(state_speed=limit, state_sps=running)
    commands.scale_speed(0.5)
    assert host.sent == [("speed", {"sps": sent})]


def test_without_a_limit_there_is_nothing_to_raise(commands, host):
    """A message says how to set one."""
    commands.scale_speed(2.0)
    assert host.sent == []
    assert host.messages == ["No speed limit. Press - to set one."]


def test_presses_add_up_to_one_restart(commands, host):
    """From the pending number, not from the one that runs."""
    commands.add_envs(1)
    commands.add_envs(1)
    commands.multiply_envs(2.0)
    assert not commands.restart_if_due()
    assert commands.restart_if_due(now=True)
    assert host.sent == [("restart", {"num_envs": 20})]


def test_a_restart_with_the_same_number_is_not_sent(commands, host):
    """One more and one fewer is nothing."""
    commands.add_envs(1)
    commands.add_envs(-1)
    assert commands.restart_if_due(now=True)
    assert host.sent == []


def test_an_ending_session_is_not_restarted(commands, change):
    """There would be nothing to restart."""
    change(phase=Phase.STOPPING)
    commands.add_envs(1)
    assert commands.pending.num_envs is None


def test_a_lost_session_gets_no_commands(commands, host, state):
    """Nobody would answer."""
    state.lost = PacError("gone")
    commands.step()
    assert host.sent == []


@pytest.mark.parametrize(("phase", "waits_for"), [(Phase.STARTING, "first step"), (Phase.RESTARTING, "restart")])
def test_a_pause_before_the_first_step_shows_what_it_waits_for(commands, change, phase, waits_for):
    """Compiling a game takes a minute, in which a pause that shows nothing looks stuck."""
    change(phase=phase)
    commands.toggle_pause()
    assert waits_for in commands.note()[0].text


def test_the_footer_shows_what_is_under_way(commands, change):
    """A requested pause, a running restart, a pending one."""

    def note():
        row = commands.note()
        return None if row is None else row[0].text.strip()

    assert note() is None
    commands.toggle_pause()
    assert note() == "pausing..."
    change(phase=Phase.PAUSED)
    assert note() is None
    change(phase=Phase.RESTARTING, state_target_envs=9)
    commands.requested_pause = None
    assert note() == "restarting with num_envs=9..."
    change(phase=Phase.RUNNING)
    commands.set_envs(12)
    assert note() == "num_envs=12 in 0.5 s"
