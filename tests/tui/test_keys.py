"""The table of keys: bindings, commands and help."""

import inspect

import pytest

from pac.envs import UnknownName
from pac.training.telemetry.records import Phase
from pac.training.units import SOLVED, STEPPED
from pac.tui.app.app import PacApp
from pac.tui.app.key_line import Situation, key_line
from pac.tui.connections.connection import SessionConnection
from pac.tui.dialogs.help import help_rows
from pac.tui.drawing.styles import BRIGHT, FAINT, SOFT, hex_of
from pac.tui.keys import KEYS, KeyClash, bindings, customised, help_entries
from pac.tui.replay.replay import ReplayApp

from .fake_session import screen_text, seen, until

WANTED = {
    *(
        "tab",
        "shift+tab",
        "0",
        "space",
        "n",
        "f",
        "plus",
        "minus",
        "m",
        "e",
        "N",
        "t",
        "w",
        "l",
        "s",
        "B",
        "q",
        "enter",
    ),
    *("left_square_bracket", "right_square_bracket", "left_curly_bracket", "right_curly_bracket", "number_sign"),
    *("question_mark", "ctrl+p", "ctrl+c", "escape", "pageup", "pagedown", *map(str, range(1, 10))),
}


@pytest.mark.parametrize("kind", [PacApp, ReplayApp])
async def test_every_key_does_something(fake, kind):
    """Each names a method of the app or of one of its parts, with arguments that it takes."""
    app = kind(SessionConnection(lambda: fake))
    assert app.INSTEAD.keys() <= {key.id for key in KEYS}
    for key in KEYS:
        act, arguments = app.resolved(app.INSTEAD.get(key.id, key.do))
        inspect.signature(act).bind(*arguments)


def test_every_key_of_the_table_is_bound_once():
    """No key is missing or bound twice, and each has an id."""
    bound = [name for key in KEYS for name in key.keys.split(",")]
    assert set(bound) >= WANTED
    assert len(bound) == len(set(bound))
    ids = {key.id for key in KEYS}
    assert len(ids) == len(bindings())


def help_text():
    return "\n".join(shown for entries in help_entries().values() for shown, *_ in entries)


def test_the_help_lists_all_keys():
    """1 to 9 are listed as one, and a common Shift only once."""
    listed = {key for entries in help_entries().values() for shown, *_ in entries for key in shown.split()}
    listed |= {f"Shift+{key}" for key in listed if "Shift+← " + key in help_text()}
    assert {key.shown for key in KEYS} - set("123456789") <= listed


def test_no_key_is_a_prefix_of_tmux_or_screen():
    """Ctrl+B and Ctrl+A never reach a program inside them."""
    assert not {"ctrl+b", "ctrl+a"} & {name for key in KEYS for name in key.keys.split(",")}


def test_preferences_replace_keys():
    """The key runs its command, the help shows it, and the other keys stay."""
    table = {key.id: key for key in customised(KEYS, {"pause": "ctrl+x,f5", "quit": "Q", "help": "pageup2"})}
    assert (table["pause"].keys, table["pause"].shown) == ("ctrl+x,f5", "Ctrl+X")
    assert table["quit"].shown == "Q"
    assert table["step"] in KEYS


def test_an_unknown_command_id_names_the_nearest():
    """A typo is reported before anything starts."""
    with pytest.raises(UnknownName, match="pause"):
        customised(KEYS, {"puase": "x"})


def test_two_commands_cannot_have_the_same_key():
    """The file would not say which of them it runs."""
    with pytest.raises(KeyClash, match=r"pause and view\.timing"):
        customised(KEYS, {"pause": "ctrl+x", "view.timing": "ctrl+x"})


def test_a_users_key_is_taken_from_the_command_that_has_it_by_default():
    """So a file stays valid when a new version adds a command with one of its keys."""
    table = {key.id: key for key in customised(KEYS, {"pause": "t", "step": "="})}
    assert (table["pause"].keys, table["view.timing"].keys, table["view.timing"].shown) == ("t", "", "none")
    assert (table["faster"].keys, table["faster"].shown) == ("plus", "+")


@pytest.mark.parametrize("units", [STEPPED, SOLVED])
def test_no_line_of_the_help_is_cut_in_40_columns(units):
    """Every key with its description."""
    rows = ["".join(segment.text for segment in row) for row in help_rows(36, 10, units)]
    for entries in help_entries().values():
        for shown, text, _ in entries:
            assert f"{shown:<14}{units.translate(text)}" in [row.rstrip() for row in rows], text


@pytest.mark.thorough
async def test_the_help_is_scrolled_if_it_does_not_fit(fake, open_app):
    """To its last line and back, by lines and by pages."""
    async with open_app(fake, (40, 12)) as (app, pilot):
        await pilot.press("question_mark")
        await seen(app, "Shift+Tab", "↑ ↓ more")
        await pilot.press("down")
        await until(lambda: "Views" not in screen_text(app))
        await pilot.press(*["pagedown"] * 6)
        await seen(app, "stop or detach; stop")
        await pilot.press(*["pageup"] * 6)
        await seen(app, "Views")


@pytest.mark.parametrize("units", [STEPPED, SOLVED])
def test_the_help_fits_80x24(units):
    """For the words of every trainer."""
    rows = ["".join(segment.text for segment in row) for row in help_rows(76, 22, units)]
    assert len(rows) <= 22
    for entries in help_entries().values():
        for shown, text, _ in entries:
            assert any(shown in row and f"{units.translate(text)} " in f"{row} " for row in rows), text


def without_play(command):
    """Reasons of an app in which the user cannot play."""
    return "nobody plays here" if command == "play" else ""


def colors(rows):
    """Return the color of each text in some rows."""
    return {segment.text.strip(" ,"): segment.style.color.name for row in rows for segment in row}


@pytest.mark.parametrize("size", [(76, 60), (76, 22), (36, 10)])
def test_the_help_greys_out_unavailable_commands_and_says_why(size):
    """And only those, also if a line has several."""
    width, height = size
    rows = help_rows(width, height, STEPPED, without_play)
    found = colors(rows)
    assert found["p"] == found["play"] == hex_of(FAINT)
    assert found["b"] == hex_of(BRIGHT)
    assert found["breakpoints"] == hex_of(SOFT)
    assert "nobody plays here" in " ".join(segment.text for row in rows[-2:] for segment in row)


def test_the_footer_greys_out_unavailable_keys():
    """And only those."""
    situation = Situation(Phase.RUNNING, "summary", "env")
    found = colors([key_line(200, situation, lambda command: "no" if command == "envs.more" else "")])
    assert found["["] == found["]"] == found["envs"] == hex_of(FAINT)
    assert found["B"] == hex_of(BRIGHT)


@pytest.mark.thorough
async def test_an_unavailable_key_shows_the_reason_once(fake, open_app):
    """And sends nothing."""
    fake.facts["watched"] = True
    fake.restart(8)
    async with open_app(fake) as (app, pilot):
        await until(lambda: app.state.snapshot is not None)
        await pilot.press("right_square_bracket", "p")
        await seen(
            app, "Unavailable: Play the shown environment by hand", "a watched script runs its environments itself"
        )
        await pilot.press("space")
        await until(lambda: fake.commands)
        assert fake.commands == [("pause", {})]
        assert len(app.screen_stack) == 1


async def test_a_refusal_is_shown_with_its_title_once(fake, open_app):
    """The title is above the reason, not in it."""
    fake.refusal = "it is too early"
    async with open_app(fake) as (app, pilot):
        await pilot.press("space")
        await seen(app, "Not now", "it is too early")
        assert screen_text(app).count("Not now") == 1
