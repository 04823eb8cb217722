"""What a task makes of kept states: files of one, and the instructions that led to one."""

import numpy as np
import pytest

from pac.envs.gameboy.cartridge import own_cartridge
from pac.envs.gameboy.layout import CLOCK
from pac.envs.gameboy.looks import LAST_LINES
from pac.envs.gameboy.snapshots import read_picture, read_snapshot
from pac.training.past.rerun import RerunImpossible
from pac.training.past.rewinder import Rewinder, save_state
from pac.training.telemetry.moments import MomentSource

from ...waiting import until
from ..journey import Journey

TASK = "gameboy:game=walk"


@pytest.fixture(scope="module")
def journey():
    """Three environments of a Game Boy after a hundred steps, which end some episodes."""
    return Journey(TASK, 100)


def rewinder(journey):
    return Rewinder(journey.task, journey.seed, lambda: journey.history, lambda _moment: None, pytest.fail)


def lines(code):
    """Return a board of code as lines of text."""
    return ["".join(map(chr, row)).rstrip() for row in code]


@pytest.mark.parametrize("back", [0, 3])
@pytest.mark.thorough
def test_the_last_instructions_of_a_step_are_shown_above_the_next_ones(journey, back):
    """The frame ends in the loop that halts until the next frame; nothing else of the board differs."""
    moment = rewinder(journey).moment(1, back)
    assert moment["source"] == MomentSource.REBUILT, moment["note"]
    code, plain = lines(moment["board:code"]), lines(journey.truth[100 - back][1]["board:code"])
    assert "halt" in code[LAST_LINES - 1]
    assert not any(plain[:LAST_LINES])
    assert all(code[:LAST_LINES])
    assert code[LAST_LINES:] == plain[LAST_LINES:]


def test_the_newest_step_of_a_paused_environment_is_traced(journey):
    """The boards are those of the moment, as soon as they are computed."""
    back = rewinder(journey)
    assert not back.trace(2)
    until(lambda: back.trace(2), "traced boards")
    assert lines(back.trace(2)["code"]) == lines(back.moment(2, 0)["board:code"])


@pytest.mark.thorough
def test_a_step_that_ended_an_episode_has_no_trace_of_the_next_one():
    """The first state of an episode is a start state, which no step has led to; the last one has a trace."""
    journey = Journey("gameboy", 130, num_envs=1)
    (end,) = (step for step, moments in enumerate(journey.truth) if moments[0]["end"])
    back = rewinder(journey)
    last, first = (back.moment(0, 130 - end, begun=begun) for begun in (False, True))
    assert (last["begun"], first["begun"]) == (0, 1)
    assert all(lines(last["board:code"])[:LAST_LINES])
    assert not any(lines(first["board:code"])[:LAST_LINES])


def test_a_saved_state_is_that_of_its_step(journey, tmp_path):
    """The snapshot has the step's time and frame, and the picture is its observation; files are numbered."""
    back = rewinder(journey)
    found = save_state(journey.task, back, tmp_path / "states", 1, 7)
    assert [path.name for path in found] == ["env2-step93-1.snapshot", "env2-step93-1.pgm"]
    truth = journey.truth[93][1]
    assert np.array_equal(read_picture(found[1]), truth["observation"].reshape(-1))
    assert np.float32(read_snapshot(found[0], own_cartridge("walk"))[CLOCK]) == truth["info"][3]
    assert save_state(journey.task, back, tmp_path / "states", 1, 7)[0].name == "env2-step93-2.snapshot"


def test_a_state_that_is_not_kept_is_not_saved(tmp_path):
    """Environments that share memory cannot be replayed."""
    journey = Journey(TASK, 5)
    back = rewinder(journey)
    back._refusal = "gone"  # as after a replay that differed
    with pytest.raises(RerunImpossible, match="gone"):
        save_state(journey.task, back, tmp_path, 0, 1)
