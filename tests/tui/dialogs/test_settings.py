"""Settings in the app change at once, and are kept in the preferences file on request."""

import tomllib

import pytest
from rich.style import Style
from textual.filter import Monochrome

from pac.tui.app.refresh import interval
from pac.tui.drawing.palettes import PALETTES
from pac.tui.preferences import preferences
from pac.tui.terminal.svg import colors, lines_of

from ..fake_session import play, screen_text, seen, until


def grounds(app):
    """The background colors of the first line of the screen."""
    return {colors(segment.style or Style())[1] for segment in lines_of(app.screen)[0]}


def frames(app):
    """The colors of the frames of boards, also below a dialog."""
    segments = [segment for line in lines_of(app.screen_stack[0]) for segment in line]
    return {colors(segment.style or Style())[0] for segment in segments if segment.text.startswith("┏")}


@pytest.mark.thorough
async def test_another_theme_is_shown_at_once(config_file, fake, open_app):
    """Also on boards whose contents have not changed, and nothing is written."""
    async with open_app(fake) as (app, pilot):
        await seen(app, "Env 1/8")
        await until(lambda: frames(app) == {PALETTES["dark"].accent})
        await pilot.press("comma", "right")
        await until(lambda: app.theme == "pac-light")
        await pilot.press("escape")
        await until(lambda: PALETTES["light"].ground in grounds(app))
        await until(lambda: frames(app) == {PALETTES["light"].accent})
    assert not config_file.exists()


@pytest.mark.thorough
async def test_ascii_and_no_color_are_shown_at_once(config_file, fake, open_app):
    """And taken back at once."""
    async with open_app(fake) as (app, pilot):
        await seen(app, "┏━ Env 1/8")
        await pilot.press("comma", "down", "left", "down", "right")
        await until(lambda: screen_text(app).isascii())
        assert preferences().characters == "ascii"
        assert app.no_color
        assert any(isinstance(item, Monochrome) for item in app.get_line_filters())
        await pilot.press("right", "up", "right", "escape")
        await seen(app, "┏━ Env 1/8")
        assert not app.no_color
        assert not any(isinstance(item, Monochrome) for item in app.get_line_filters())


@pytest.mark.thorough
async def test_the_color_blind_theme_puts_letters_on_pieces(config_file, fake, open_app):
    """Where colors alone would not distinguish them; the other themes take the letters away again."""
    play(fake)
    async with open_app(fake) as (app, pilot):
        await seen(app, "Env 1/8", "oo")
        await pilot.press("comma", "left", "escape")
        await until(lambda: preferences().theme == "colorblind")
        await until(lambda: "oo" not in screen_text(app))
        await pilot.press("comma", "right", "escape")
        await seen(app, "oo")


@pytest.mark.thorough
async def test_a_rate_changes_in_steps(config_file, fake, open_app):
    """Up to the highest one."""
    async with open_app(fake) as (app, pilot):
        await pilot.press("comma", *["down"] * 4, "right")
        await until(lambda: preferences().rates.grid == 15)
        assert interval("grid") == 1 / 15
        await pilot.press(*["right"] * 5)
        await until(lambda: preferences().rates.grid == 60)
        await seen(app, "60 Hz")


async def test_groups_of_rules_are_muted_in_the_session(config_file, fake, open_app):
    """It is told at once; the list scrolls where it does not fit, and the file stays as it is."""
    async with open_app(fake, (60, 12)) as (app, pilot):
        await pilot.press("comma", "up")
        await seen(app, "diagnosis: speed", "1 x")
        await pilot.press("left", "left")
        await seen(app, "muted")
        await until(lambda: ("findings", {"environments": 1, "learning": 1, "speed": 0, "muted": []}) in fake.commands)
        assert not config_file.exists()


@pytest.mark.thorough
async def test_settings_are_saved_on_request(config_file, fake, open_app):
    """In the file, whose name is shown; what is not changed is not written."""
    async with open_app(fake) as (app, pilot):
        await pilot.press("comma")
        await seen(app, "no unsaved changes")
        await pilot.press("right")
        await seen(app, "not saved")
        await pilot.press("s")
        await until(config_file.exists)
        assert tomllib.loads(config_file.read_text()) == {"theme": "light"}
        await until(lambda: "not saved" not in screen_text(app))


@pytest.mark.thorough
async def test_a_file_with_an_error_is_reported_and_stays(config_file, fake, open_app):
    """The settings are in use all the same."""
    config_file.parent.mkdir(parents=True)
    config_file.write_text("theme = # I was interrupted here\n")
    async with open_app(fake) as (app, pilot):
        await pilot.press("comma", "right", "s")
        await seen(app, "TOML")
        assert preferences().theme == "light"
    assert config_file.read_text() == "theme = # I was interrupted here\n"
