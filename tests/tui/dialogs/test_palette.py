"""The palette: commands by group, and their keys."""

import tomllib

import pytest

from pac.tui.dialogs.palette import CommandPalette
from pac.tui.keys import shown

from ..fake_session import screen_text, seen, until


@pytest.mark.thorough
async def test_a_command_gets_another_key(config_file, fake, open_app):
    """At once, everywhere; Ctrl+S keeps it in the file."""
    async with open_app(fake, (120, 40)) as (app, pilot):
        await pilot.press("ctrl+p", *"pause or", "f2")
        await seen(app, "Press the new key")
        await pilot.press("f9")
        await seen(app, "Pause or resume: F9", "Ctrl+S saves the changes")
        await pilot.press("ctrl+s")
        await seen(app, "saved in")
        assert tomllib.loads(config_file.read_text()) == {"keys": {"pause": "f9"}}
        await pilot.press("escape", "escape")
        await until(lambda: not isinstance(app.screen, CommandPalette))
        await seen(app, "F9 pause")
        await pilot.press("space")
        await pilot.press("f9")
        await until(lambda: fake.commands)
        assert fake.commands == [("pause", {})]


@pytest.mark.thorough
async def test_a_key_that_is_in_use_is_refused_or_swapped(config_file, fake, open_app):
    """The refusal names the other command; the same key again swaps them, and Tab does nothing meanwhile."""
    async with open_app(fake, (120, 40)) as (app, pilot):
        await pilot.press("ctrl+p", *"timing", "f2", "tab")
        await seen(app, 'Tab is the key of "Next view', "swap the two keys")
        assert shown("view.timing") == "t"
        assert app.state.view == "summary"
        await pilot.press("f2", "tab")
        await until(lambda: (shown("view.timing"), shown("view.next")) == ("Tab", "t"))


@pytest.mark.thorough
async def test_the_old_key_back_leaves_nothing_to_save(config_file, fake, open_app):
    """A default is not written into the file."""
    async with open_app(fake, (120, 40)) as (app, pilot):
        await pilot.press("ctrl+p", *"pause or", "f2", "f9")
        await seen(app, "Ctrl+S saves the changes")
        await pilot.press("f2", "space")
        await until(lambda: shown("pause") == "Space")
        await until(lambda: "Ctrl+S" not in screen_text(app))


@pytest.mark.thorough
async def test_escape_changes_no_key(config_file, fake, open_app):
    """And the palette stays."""
    async with open_app(fake, (120, 40)) as (app, pilot):
        await pilot.press("ctrl+p", *"pause or", "f2", "escape")
        await until(lambda: isinstance(app.screen, CommandPalette))
        assert shown("pause") == "Space"


def line_of(app, text):
    """Return the line of the screen that contains a text; the screens of the stack are below each other."""
    return next(y for y, row in enumerate(screen_text(app).splitlines()) if text in row) % app.size.height


async def test_keys_and_clicks_select_in_a_list(fake, open_app):
    """Pages, the ends and a click; a second click executes. In a text, Home and End move the cursor."""
    async with open_app(fake, (80, 24)) as (app, pilot):
        await until(lambda: app.state.snapshot is not None)
        await pilot.press("ctrl+p", "end")
        await seen(app, "68 of 68", "▌ Stop the session and quit")
        await pilot.press("pageup")
        await seen(app, "58 of 68")
        await pilot.press("home", "pagedown")
        await seen(app, "11 of 68")
        await pilot.click(offset=(20, line_of(app, "Twice as fast")))
        await seen(app, "▌ Twice as fast")
        await pilot.press(*"fast", "home", *"as ")
        await seen(app, "as fast", "▌ Twice as fast", "1 of 2")
        await pilot.click(offset=(20, line_of(app, "Twice as fast")))
        await seen(app, "No speed limit. Press - to set one.")
