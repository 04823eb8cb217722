"""The table of keys is what the app obeys and what the help says."""

from pac.tui.application import PacApp
from pac.tui.keys import HELP, KEYS, QUIET, bindings

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


def test_every_key_does_something():
    """Each of them calls an action that exists."""
    for key in (*KEYS, *QUIET):
        name = key.action.partition("(")[0]
        assert hasattr(PacApp, f"action_{name}"), key


def test_every_key_of_the_table_is_bound_once():
    """None is missing, none means two things, and each has an id."""
    bound = [name for key in (*KEYS, *QUIET) for name in key.keys.split(",")]
    assert set(bound) >= WANTED
    assert len(bound) == len(set(bound))
    ids = {key.id for key in (*KEYS, *QUIET)}
    assert len(ids) == len(bindings())


def test_the_help_lists_all_keys():
    """Whatever has a key stands there; only 1 to 9 are written as one."""
    listed = {key for entries in HELP.values() for shown, _ in entries for key in shown.split()}
    assert {key.shown for key in (*KEYS, *QUIET)} - set("123456789") <= listed
