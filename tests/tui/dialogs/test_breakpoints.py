"""Breakpoints in the app: adding, listing, switching and removing them, and what happens when one hits."""

import pytest
from textual.widgets import Input

from pac.training.telemetry.records import Level, Notice, Phase
from pac.tui.dialogs.breakpoints import BreakpointsDialog

from ..fake_session import seen, until


def listed(fake, *texts, hits=0, env=-1):
    """Publish breakpoints; the first one has hit."""
    with fake.writer.write("breakpoints") as block:
        block[:] = 0
        for index, text in enumerate(texts):
            block[index] = (index + 1, 1, hits if index == 0 else 0, env if index == 0 else -1, text.encode())
    fake.say()


async def opened(app, pilot):
    """Open the dialog."""
    await pilot.press("b")
    await until(lambda: isinstance(app.screen, BreakpointsDialog))


@pytest.mark.thorough
async def test_a_condition_is_typed_and_sent(fake, open_app):
    """In a text, Space is a character; Enter sends the text; the session's list is shown."""
    async with open_app(fake, (120, 40)) as (app, pilot):
        await opened(app, pilot)
        await seen(app, "no breakpoints", "names: ", "viruses", "topped_out")
        await pilot.press(*"reward", "space", "less_than_sign", "space", *"-5", "enter")
        await until(lambda: fake.commands == [("break", {"text": "reward < -5"})])
        listed(fake, "reward < -5", hits=3)
        await seen(app, "reward < -5", "3 hits")
        await pilot.press("escape")
        await until(lambda: not isinstance(app.screen, BreakpointsDialog))


@pytest.mark.thorough
async def test_an_error_is_shown_in_the_dialog_with_the_text(fake, open_app):
    """There is no toast, and nothing has to be typed again."""
    fake.refusal = "Unknown name: unknown name in a condition 'rewrad'"
    async with open_app(fake, (120, 40)) as (app, pilot):
        await opened(app, pilot)
        await pilot.press(*"rewrad", "enter")
        await seen(app, "unknown name in a condition")
        assert app.screen.query_one(Input).value == "rewrad"
        assert not app.screen_stack[0].query("Toast")


@pytest.mark.thorough
async def test_a_breakpoint_is_selected_switched_and_removed(fake, open_app):
    """Arrow keys, Space and Delete do so while the input is empty."""
    listed(fake, "ended", "hung")
    async with open_app(fake, (120, 40)) as (app, pilot):
        await opened(app, pilot)
        await seen(app, "hung")
        await pilot.press("down", "down", "space", "up", "delete")
        await until(lambda: len(fake.commands) == 2)
        assert fake.commands == [("switch_break", {"number": 2}), ("unbreak", {"number": 1})]


@pytest.mark.thorough
async def test_the_app_shows_the_environment_of_a_breakpoint_that_hits(fake, open_app):
    """Its board is marked and a toast gives the reason; later snapshots do not change the view."""
    async with open_app(fake, (120, 40)) as (app, pilot):
        listed(fake, "reward < -5", hits=1, env=4)
        fake.event(Level.WARNING, "break: env 5: reward < -5 (reward -6.2)")
        fake.writer.array("environments")["notice"][4] = Notice.BREAK
        fake.say(phase=Phase.PAUSED)
        await until(lambda: app.state.env == 4)
        await seen(app, "! break", "(reward -6.2)")
        await pilot.press("0")
        fake.say()
        await seen(app, "Env 8/8")
