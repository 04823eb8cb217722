"""The end of the app: what is stopped or left running, and the exit code."""

from dataclasses import dataclass

import pytest

from pac.training.exits import DONE, FAILED, INTERRUPTED
from pac.training.telemetry.records import Phase
from pac.tui.app.ending import Ending
from pac.tui.app.session_commands import SessionCommands


@dataclass
class Process:
    """A session's process that notes what is done to it."""

    origin: str = "process"
    detached: bool = False
    killed: bool = False
    interrupts: int = 0

    @property
    def owned(self):
        """Whether the app has started it."""
        return self.origin != "elsewhere" and not self.detached

    def kill(self):
        self.killed = True

    def terminate(self):
        self.interrupts += 1

    def stop_start(self):
        """Nothing is being started."""
        return False


@pytest.fixture
def process():
    """A process that the app has started."""
    return Process()


@pytest.fixture
def ending(state, process, host):
    """The end of an app that shows a running session."""
    return Ending(state, process, SessionCommands(state, host.send, host), host)


def test_the_third_request_kills(ending, process, host):
    """The first saves, the second warns."""
    for _ in range(2):
        ending.stop()
    assert (host.sent, process.killed) == ([("stop", {})], False)
    assert "press q again" in ending.note()[0].text
    ending.stop()
    assert (process.killed, host.exit_codes) == (True, [FAILED])


@pytest.mark.parametrize(("phase", "code"), [(Phase.ENDED, INTERRUPTED), (Phase.FAILED, FAILED)])
def test_an_interrupt_has_its_own_exit_code(ending, host, change, phase, code):
    """Unless the session has failed."""
    ending.interrupt()
    change(phase=phase)
    ending.leave()
    assert host.exit_codes == [code]


def test_an_interrupt_leaves_the_session_of_another_terminal(ending, process, host):
    """It was there before the app."""
    process.origin = "elsewhere"
    ending.interrupt()
    assert (process.detached, host.sent, host.exit_codes) == (True, [], [DONE])


def test_a_script_ends_with_its_process(ending, process, state, host, change):
    """Not with its session: it may be saving, and the user can still interrupt it, twice before it is killed."""
    process.origin, state.runs_script = "script", True
    change(phase=Phase.ENDED)
    assert ending.has_choice
    for times in (1, 2):
        ending.stop()
        assert (process.interrupts, process.killed, host.exit_codes) == (times, False, [])
    state.end = "ended, exit code 3"
    assert "ended, exit code 3: press any key to leave" in ending.note()[0].text
    ending.stop()
    assert (process.killed, host.exit_codes) == (False, [DONE])


def test_a_refused_stop_counts_as_none(ending, process):
    """A viewer without control cannot stop the session, and can still detach."""
    process.origin = "elsewhere"
    ending.stop()
    ending.stop_refused()
    assert ending.has_choice


def test_there_is_no_choice_before_the_first_snapshot(ending, state):
    """Nothing runs yet that could be left running."""
    assert ending.has_choice
    state.snapshot = None
    assert not ending.has_choice


def test_staying_forgets_the_next_run(ending, host):
    """The user has changed their mind."""
    ending.next_run = object()
    ending.choose(None)
    assert ending.next_run is None
    ending.choose("detach")
    assert host.exit_codes == [DONE]


def test_a_stop_cancels_a_pending_restart(state, process, host):
    """A restart would delay the end."""
    commands = SessionCommands(state, host.send, host)
    commands.add_envs(1)
    Ending(state, process, commands, host).stop()
    assert commands.pending.num_envs is None
