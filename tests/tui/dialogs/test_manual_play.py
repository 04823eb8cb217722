"""Playing an environment by hand: what keys and words mean, and what is sent."""

from contextlib import closing
from dataclasses import replace

import pytest

from pac.training.telemetry.description import describe
from pac.training.telemetry.records import Notice, Phase
from pac.tui.dialogs.manual_play import ManualPlay, action_of, button

from ..fake_session import CHESS, FACTS, FakeSession, seen, until


@pytest.fixture
def chess(runtime_directory):
    """Environments whose actions have names: wait, left, right."""
    fake = FakeSession(runtime_directory, CHESS)
    yield fake
    fake.close()


@pytest.mark.thorough
async def test_buttons_names_and_numbers_are_played(chess, open_app):
    """Each is one step; an empty input is the policy's action; the session is paused first."""
    async with open_app(chess, (120, 40)) as (app, pilot):
        await pilot.press("3", "p")
        await until(lambda: isinstance(app.screen, ManualPlay))
        await seen(app, "you play Env 3", "left: left", "Esc ends")
        await pilot.press("right", *"wait", "enter", "1", "enter", "enter")
        await until(lambda: len(chess.commands) == 5)
        acts = [("act", {"env": 2, "seat": 0, "action": action}) for action in (2, 0, 1)]
        assert chess.commands == [("pause", {}), *acts, ("step", {"count": 1})]
        await pilot.press(*"jump", "enter")
        await seen(app, "unknown action")
        chess.refusal = "Bad action: action 2 is not legal now"
        await pilot.press("right")
        await seen(app, "not legal now")
        assert not app.screen_stack[0].query("Toast")
        await pilot.press("p")
        await until(lambda: not isinstance(app.screen, ManualPlay))


@pytest.mark.thorough
async def test_a_paused_session_is_not_paused_again(chess, open_app):
    """A step by hand is marked on the board."""
    chess.writer.array("environments")["notice"][0] = Notice.PLAYED
    chess.say(phase=Phase.PAUSED)
    async with open_app(chess, (120, 40)) as (app, pilot):
        await pilot.press("p")
        await seen(app, "you play Env 1", "by hand")
        await pilot.press("escape")
        await until(lambda: not isinstance(app.screen, ManualPlay))
        assert not chess.commands


def test_words_name_actions():
    """By name, by number, or by place in the grid of actions."""
    about = describe(CHESS, run="r", **FACTS)
    assert [action_of(about, text) for text in ("Left", "2", "up", "1 2")] == [1, 2, None, None]
    grid = describe(replace(CHESS, action_names=(), action_shape=(4, 3, 5)), run="r", **FACTS)
    assert [action_of(grid, text) for text in ("1 2 3", "3,2,4", "4 0 0")] == [28, 59, None]
    named = replace(grid, action_planes=("right", "below", "left", "above"))
    assert [action_of(named, text) for text in ("Below 2,3", "1 2 3", "below")] == [28, 28, None]
    assert [button(about, key) for key in ("left", "up")] == [1, None]


def test_several_numbers_are_typed_in_a_row():
    """Actions with components or continuous numbers need all of them."""
    for changes in ({"choices": (3, 2)}, {"bounds": ((-1.0, 1.0), (0.0, 2.0))}):
        about = describe(replace(CHESS, action_names=(), **changes), run="r", **FACTS)
        assert [action_of(about, text) for text in ("2 1", "-0.5, 1", "left", "1e-1")] == [
            [2, 1],
            [-0.5, 1],
            None,
            [0.1],
        ]


@pytest.mark.thorough
async def test_the_selected_seat_is_played(runtime_directory, open_app):
    """Down selects the next seat, and the user's actions are those of that seat."""
    with closing(FakeSession(runtime_directory, replace(CHESS, players=4))) as fake:
        async with open_app(fake, (120, 40)) as (app, pilot):
            await pilot.press("2")
            await seen(app, "seat 1/4")
            await pilot.press("down", "down", "up", "p")
            await seen(app, "you play Env 2, seat 2/4")
            await pilot.press("left")
            await until(lambda: ("act", {"env": 1, "seat": 1, "action": 1}) in fake.commands)
