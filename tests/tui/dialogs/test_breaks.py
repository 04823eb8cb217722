"""Breakpoints in the app: typed, listed, switched, removed; and where it goes when one hits."""

import pytest
from textual.widgets import Input

from pac.training.telemetry.records import Level, Notice, Phase
from pac.tui.dialogs.breaks import Breakpoints

from ..stage import SIZES, screen_text, seen, until


def listed(stage, *texts, hits=0, env=-1):
    """Let the session have breakpoints; the first one has hit."""
    with stage.writer.write("breakpoints") as block:
        block[:] = 0
        for index, text in enumerate(texts):
            block[index] = (index + 1, 1, hits if index == 0 else 0, env if index == 0 else -1, text.encode())
    stage.say()


async def opened(app, pilot):
    """Open the screen."""
    await pilot.press("b")
    await until(lambda: isinstance(app.screen, Breakpoints))


async def test_a_condition_is_typed_and_sent(stage, open_app):
    """Space is a letter while something stands in the line; Enter sends it; the session's list is shown."""
    async with open_app(stage, (120, 40)) as (app, pilot):
        await opened(app, pilot)
        await seen(app, "there are none")
        await seen(app, "names: ")
        await seen(app, "viruses")
        await seen(app, "topped_out")
        await pilot.press(*"reward", "space", "less_than_sign", "space", *"-5", "enter")
        await until(lambda: stage.commands == [("break", {"text": "reward < -5"})])
        listed(stage, "reward < -5", hits=3)
        await seen(app, "reward < -5")
        await seen(app, "3 hits")
        await pilot.press("escape")
        await until(lambda: not isinstance(app.screen, Breakpoints))


async def test_an_error_is_told_in_place_and_the_text_comes_back(stage, open_app):
    """No toast, nothing typed again."""
    stage.refusal = "Unknown name: unknown name in a condition 'rewrad'"
    async with open_app(stage, (120, 40)) as (app, pilot):
        await opened(app, pilot)
        await pilot.press(*"rewrad", "enter")
        await seen(app, "unknown name in a condition")
        assert app.screen.query_one(Input).value == "rewrad"
        assert not app._notifications


async def test_one_is_selected_switched_and_removed(stage, open_app):
    """Arrow keys, Space and Delete, while nothing is typed."""
    listed(stage, "ended", "hung")
    async with open_app(stage, (120, 40)) as (app, pilot):
        await opened(app, pilot)
        await seen(app, "hung")
        await pilot.press("down", "down", "space", "up", "delete")
        await until(lambda: len(stage.commands) == 2)
        assert stage.commands == [("switch_break", {"number": 2}), ("unbreak", {"number": 1})]


@pytest.mark.parametrize("size", SIZES)
async def test_the_list_stands_at_every_size(stage, open_app, size):
    """Nothing breaks where little fits; what is selected stays in sight."""
    listed(stage, *(f"length > {index}00" for index in range(1, 30)))
    async with open_app(stage, size) as (app, pilot):
        await opened(app, pilot)
        for _ in range(30):
            await pilot.press("down")
        await until(lambda: size[1] < 12 or "length > 2900"[: size[0] - 20] in screen_text(app))
        assert len(screen_text(app).splitlines()) == size[1]


async def test_the_app_goes_to_where_a_breakpoint_hits(stage, open_app):
    """Its board is marked and the toast says why; later looks leave the person where they are."""
    async with open_app(stage, (120, 40)) as (app, pilot):
        listed(stage, "reward < -5", hits=1, env=4)
        stage.event(Level.WARNING, "break: env 5: reward < -5 (reward -6.2)")
        stage.writer.array("environments")["notice"][4] = Notice.BREAK
        stage.say(phase=Phase.PAUSED)
        await until(lambda: app.env == 4)
        await seen(app, "! break")
        await seen(app, "(reward -6.2)")
        await pilot.press("0")
        stage.say()
        await seen(app, "Env 8/8")
