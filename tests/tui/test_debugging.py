"""Inspecting and going back in time in the app: keys, requests, and the screen."""

from contextlib import closing
from dataclasses import replace
from functools import partial

import pytest

from pac.training.telemetry.moments import MomentSource
from pac.training.telemetry.records import Phase
from pac.tui.views import ViewUpdate

from .fake_session import FakeSession, at_step, paused, screen_text, seen, until


async def go_back(pilot, steps=1):
    """Show environment 3 and go back in time once its steps are known."""
    await pilot.press("3")
    await seen(pilot.app, "paused at step 100")
    await pilot.press(*["left"] * steps)


def looks_back(fake, back):
    """Return whether the app requests a moment so many steps back."""
    return bool(fake.looks) and fake.looks[-1]["back"] == back


async def test_inspecting_requests_details_and_shows_them(fake, open_app):
    """Planes by name, reward terms of step and episode, mask and scalars; i again ends it."""
    at_step(fake, "detail", 100, decided=0)
    fake.write("action_counts")
    async with open_app(fake, (200, 60)) as (app, pilot):
        await pilot.press("3", "i")
        await until(lambda: fake.looks[-1]["detail"] and fake.looks[-1]["focus"] == 2)
        await seen(app, "Observation", "20 x 16 x 8", "amber", "hand_first", "Legal", "0 of 512", "virus_clear", "1.00")
        await pilot.press("i")
        await until(lambda: "Observation" not in screen_text(app) and not fake.looks[-1]["detail"])


@pytest.mark.thorough
async def test_details_are_drawn_whenever_they_are_due(fake, open_app):
    """Even soon after they were drawn."""
    at_step(fake, "detail", 100)
    async with open_app(fake, (200, 60)) as (app, pilot):
        await pilot.press("3", "i")
        await seen(app, "Observation", "40 steps")
        update = ViewUpdate(app.state.snapshot, 1000.0, 2, numbers=False, inspecting=True, details=True)
        app.painter.view.show(update)
        moment = replace(app.state.snapshot.moment, values={**app.state.snapshot.moment.values, "episode_length": 41})
        app.painter.view.show(replace(update, snapshot=replace(app.state.snapshot, moment=moment)))
        assert "41 steps" in screen_text(app)


@pytest.mark.thorough
async def test_the_summary_inspects_the_selected_board(fake, open_app):
    """i shows a frame over the grid, and the arrow keys select another board."""
    at_step(fake, "detail", 100, env=0)
    async with open_app(fake, (120, 40)) as (app, pilot):
        await pilot.press("i")
        await seen(app, "i closes", "Decision")
        await until(lambda: fake.looks[-1]["focus"] == 0)
        await pilot.press("right")
        await until(lambda: fake.looks[-1]["focus"] == 1)
        await pilot.press("i")
        await until(lambda: "i closes" not in screen_text(app) and fake.looks[-1]["focus"] is None)


BACK = [
    (["left"], 1),
    (["pageup", "right"], 9),
    (["home", "shift+right"], 90),
    (["home", "end"], 0),
    (["left", "escape"], 0),
]
MORE_BACK = [
    (["left", "left", "right"], 1),
    (["shift+left"], 10),
    (["pageup", "pageup", "pagedown"], 10),
    (["home", "left"], 100),
    (["left", "right", "right"], 0),
]


@pytest.mark.thorough
@pytest.mark.parametrize("moves", [BACK, pytest.param(MORE_BACK, marks=pytest.mark.thorough)], ids=["few", "more"])
async def test_keys_go_back_and_forward(fake, open_app, moves):
    """Arrows go one step, with Shift or PgUp ten, Home and End to the ends. No command is sent."""
    paused(fake)
    async with open_app(fake) as (app, pilot):
        await go_back(pilot, 0)
        for keys, back in moves:
            app.debugger.back = 0
            await pilot.press(*keys)
            await until(partial(looks_back, fake, back), str(keys))
            assert app.painter.view.id == "environment"
        assert fake.commands == []


@pytest.mark.thorough
async def test_resuming_and_stepping_show_the_newest_step(fake, open_app):
    """Also if an earlier step was shown."""
    paused(fake)
    async with open_app(fake) as (app, pilot):
        await go_back(pilot)
        await until(lambda: looks_back(fake, 1))
        with fake.writer.write("line") as line:
            line["now"] = 101
        at_step(fake, "detail", 101, now=101)
        await until(lambda: looks_back(fake, 0))
        await seen(app, "paused at step 101")
        await pilot.press("left")
        await until(lambda: looks_back(fake, 1))
        fake.say(phase=Phase.RUNNING)
        await until(lambda: looks_back(fake, 0))


@pytest.mark.thorough
async def test_another_seat_has_its_own_past(runtime_directory, open_app):
    """Down requests the next seat's policy, moment and line, and shows only those; so do steps back."""
    with closing(FakeSession(runtime_directory, "autochess:players=8")) as fake:
        async with open_app(fake, (200, 60)) as (app, pilot):
            await pilot.press("3", "i", "down")
            await until(lambda: (fake.looks[-1]["focus"], fake.looks[-1]["seat"]) == (2, 1))
            chess_at(fake, "detail", 100, seat=0, episode_return=7.5)
            await seen(app, "waiting for the next step")
            chess_at(fake, "detail", 100, seat=1, episode_return=7.25)
            await seen(app, "seat 2/8", "Observation", "7.25")
            with fake.writer.write("line") as line:
                line["env"], line["seat"], line["now"], line["ends_count"], line["rewards_count"] = 2, 1, 100, 100, 100
            fake.say(phase=Phase.PAUSED)
            await seen(app, "at step 100")
            await pilot.press("left")
            await until(lambda: looks_back(fake, 1) and fake.looks[-1]["seat"] == 1)
            chess_at(fake, "moment", 99, seat=1, source=MomentSource.REBUILT, episode_return=6.75)
            await seen(app, "1 step back", "6.75")
            await pilot.press("up", "up")
            await until(lambda: fake.looks[-1]["seat"] == 7)


def chess_at(fake, block, step, **values):
    """Publish the moment of a seat of environment 3 after a step."""
    record = {
        "env": 2,
        "step": step,
        "now": 100,
        "source": MomentSource.NOW,
        "full": 1,
        "acted": 1,
        "action": 3,
        **values,
    }
    fake.write(block, **record)


NO_TERMS = {"reward_terms": (0,) * 4, "terms": (0,) * 4}


@pytest.fixture
def console(runtime_directory):
    """A paused session of a task that makes files of a state."""
    fake = FakeSession(runtime_directory, "gameboy")
    fake.answers["save_state"] = {"paths": ["/runs/a/states/env3-step99-1.snapshot"], "host": "box"}
    yield fake
    fake.close()


@pytest.mark.thorough
async def test_a_key_saves_the_shown_state(console, open_app):
    """The one that is shown, also an earlier one; the files and the machine that has them are named."""
    paused(console, **NO_TERMS)
    async with open_app(console, (120, 40)) as (app, pilot):
        await go_back(pilot)
        await until(lambda: looks_back(console, 1))
        await pilot.press("g")
        await seen(app, "saved env3-step99-1.snapshot", "in /runs/a/states on box")
        assert console.commands[-1] == ("save_state", {"env": 2, "back": 1})


@pytest.mark.thorough
async def test_the_end_of_an_episode_is_not_saved(console, open_app):
    """The environment has begun the next episode, so the user is asked to go a step further."""
    paused(console, **NO_TERMS)
    async with open_app(console, (120, 40)) as (app, pilot):
        await go_back(pilot, 0)
        await pilot.press(*["pageup"] * 4, "g")
        await seen(app, "This is the end of an episode")
        assert not console.commands


@pytest.mark.thorough
async def test_states_are_saved_only_while_paused(console, open_app):
    """Otherwise the key shows which key pauses."""
    async with open_app(console, (120, 40)) as (app, pilot):
        await pilot.press("3", "g")
        await seen(app, "pause the session first (Space)")
        assert not console.commands
