"""Why keys do nothing: the session, the environments or the episodes that they need are not there."""

from dataclasses import replace

import pytest

from pac.training.telemetry.records import Phase
from pac.tui.app.availability import why_unavailable, works_after_end
from pac.tui.keys import KEYS


@pytest.mark.parametrize("command", ["episode", "record", "play"])
def test_commands_that_need_episodes_are_unavailable_in_a_solver(solver, command):
    """Its workers have none."""
    assert why_unavailable(command, solver) == "a worker has no episodes"
    assert not why_unavailable("pause", solver)


@pytest.mark.parametrize("command", ["envs.more", "envs.number", "baseline", "sweep", "record", "play"])
def test_commands_to_the_environments_are_unavailable_in_a_watched_script(state, change, command):
    """Pausing and stepping are available."""
    assert not why_unavailable(command, state)
    change(description=replace(state.snapshot.description, watched=True))
    assert why_unavailable(command, state) == "a watched script runs its environments itself"
    assert not any(why_unavailable(name, state) for name in ("pause", "step", "episode", "breaks", "faster"))


def test_commands_to_the_training_are_unavailable_after_its_end(state, change):
    """The views still work."""
    change(phase=Phase.STOPPING)
    assert why_unavailable("pause", state) == "the session is ending"
    change(phase=Phase.FAILED)
    assert why_unavailable("pause", state) == why_unavailable("record", state) == "the session has ended"
    assert not any(why_unavailable(name, state) for name in ("view.timing", "inspect", "help", "quit"))


def test_a_recorded_episode_is_only_looked_at(state):
    """What would change a training is unavailable; stepping through it is not."""
    state.replay = True
    names = {key.id for key in KEYS if why_unavailable(key.id, state)}
    assert {"envs.more", "record", "play", "breaks", "steps", "control"} <= names
    assert not names & {"pause", "step", "faster", "episode", "inspect", "state"}


def test_a_state_is_saved_while_paused(state, change):
    """The reason names the key that pauses."""
    assert why_unavailable("state", state) == "this task makes no files of a state"
    change(description=replace(state.snapshot.description, state_files=True))
    assert why_unavailable("state", state) == "pause the session first (Space)"
    change(phase=Phase.PAUSED)
    assert not why_unavailable("state", state)


def test_other_keys_than_those_that_look_leave_after_the_end_of_a_script(state):
    """Among the curves, so do not those that change the curves."""
    looking = {key.id for key in KEYS if works_after_end(key.id, state)}
    assert {"view.timing", "env.3", "inspect", "settings", "page.next"} <= looking
    assert not looking & {"pause", "quit", "interrupt", "runs", "curves.in", "accept", "cancel", "logs.search", "axis"}
    state.view = "learning"
    assert {key.id for key in KEYS if works_after_end(key.id, state)} - looking == {
        *(key.id for key in KEYS if key.group == "Curves"),
        "accept",
        "cancel",
    }
