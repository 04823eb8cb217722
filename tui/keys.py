"""All keys in one table, from which bindings, footer, help and command palette are made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

from textual.binding import Binding, BindingType
from textual.keys import key_to_character

from ..envs import BadParameter, UnknownName
from .preferences import preferences


@dataclass(frozen=True)
class Key:
    """A command and its keys.

    Attributes:
        id: Name of the command in the preferences.
        keys: Key names of Textual, separated by commas.
        shown: The first key as the help shows it.
        title: Description in the command palette.
        group: Heading in the command palette.
        priority: Whether it overrides the keys of the focused widget.
    """

    id: str
    keys: str
    shown: str
    title: str
    group: str = "Views"
    priority: bool = False


SESSION, ENVIRONMENTS, DEBUGGER, VIEWS, RUNS, APP = "Session", "Environments", "Debugger", "Views", "Runs", "App"
CURVES = "Curves"
GROUPS = (SESSION, ENVIRONMENTS, DEBUGGER, VIEWS, CURVES, RUNS, APP)

KEYS: tuple[Key, ...] = (
    Key("view.next", "tab", "Tab", "Next view: summary, environment 1 to N", priority=True),
    Key("view.previous", "shift+tab", "Shift+Tab", "Previous view", priority=True),
    Key("view.summary", "0", "0", "Summary of all environments"),
    Key("view.timing", "t", "t", "Timing: time per phase of a step"),
    Key("view.learning", "l", "l", "Learning curves"),
    Key("view.workers", "w", "w", "Workers and events"),
    Key("view.logs", "o", "o", "Output of training and workers"),
    Key("members", "a", "a", "All ranks or sessions on one page"),
    Key("member.next", "greater_than_sign", ">", "Next rank or session"),
    Key("member.previous", "less_than_sign", "<", "Previous rank or session"),
    Key("logs.search", "slash", "/", "Search the output"),
    Key("page.next", "pagedown", "PgDn", "Next page, or ten steps forward while paused"),
    Key("page.previous", "pageup", "PgUp", "Previous page, or ten steps back while paused"),
    Key("axis", "x", "x", "Curves over steps, time or frames", CURVES),
    Key("curves.in", "z", "z", "Zoom in, around the cursor or the newest value", CURVES),
    Key("curves.out", "Z", "Z", "Zoom out", CURVES),
    Key("curves.smooth", "S", "S", "Smooth the curves", CURVES),
    Key("curves.log", "y", "y", "Logarithmic y axes", CURVES),
    Key("curves.choose", "C", "C", "Choose, order and pin the curves", CURVES),
    Key("curves.runs", "O", "O", "Compare with other runs", CURVES),
    Key("env.number", "e", "e", "Show an environment by number", ENVIRONMENTS),
    Key("pause", "space", "Space", "Pause or resume", SESSION),
    Key("step", "n", "n", "One step of every environment", SESSION),
    Key("steps", "N", "N", "Run a number of steps", SESSION),
    Key("episode", "f", "f", "Run to the end of the shown environment's episode", DEBUGGER),
    Key("breaks", "b", "b", "Breakpoints: pause when a condition holds", DEBUGGER),
    Key("inspect", "i", "i", "Inspect: observation, mask, value, probabilities, reward terms", DEBUGGER),
    Key("record", "r", "r", "Record the next episode of the shown environment", DEBUGGER),
    Key("state", "g", "g", "While paused: save the shown state as files", DEBUGGER),
    Key("episodes", "E", "E", "Episodes: the last ones of all environments; replay one", DEBUGGER),
    Key("play", "p", "p", "Play the shown environment by hand", DEBUGGER),
    Key("travel.first", "home", "Home", "While paused: oldest stored step", DEBUGGER),
    Key("travel.last", "end", "End", "While paused: current step", DEBUGGER),
    Key("faster", "plus,equals_sign", "+", "Twice as fast", SESSION),
    Key("slower", "minus", "-", "Half as fast", SESSION),
    Key("unlimited", "m", "m", "No speed limit", SESSION),
    Key("envs.fewer", "left_square_bracket", "[", "Restart with one environment fewer", ENVIRONMENTS),
    Key("envs.more", "right_square_bracket", "]", "Restart with one environment more", ENVIRONMENTS),
    Key("envs.half", "left_curly_bracket", "{", "Restart with half the environments", ENVIRONMENTS),
    Key("envs.double", "right_curly_bracket", "}", "Restart with twice the environments", ENVIRONMENTS),
    Key("envs.number", "number_sign", "#", "Restart with a given number of environments", ENVIRONMENTS),
    Key("baseline", "B", "B", "Measure the baseline: fps of one environment", ENVIRONMENTS),
    Key("sweep", "v", "v", "Sweep: measure several N, then return to this one", ENVIRONMENTS),
    Key("runs", "R", "R", "Runs: open a running one, resume a stopped one", RUNS),
    Key("screenshot", "s", "s", "Save a picture of the screen", APP),
    Key("settings", "comma", ",", "Settings: theme, characters, colors, refresh rates, alarms", APP),
    Key("help", "question_mark", "?", "All keys", APP),
    Key("palette", "ctrl+p", "Ctrl+P", "All commands by name; change their keys", APP),
    Key("control", "c", "c", "Take control from another viewer", SESSION),
    Key("quit", "q", "q", "Quit: stop the session, or detach from it", APP),
)
QUIET: tuple[Key, ...] = (
    *(Key(f"env.{k}", str(k), str(k), f"Environment {k}", ENVIRONMENTS) for k in range(1, 10)),
    Key("select.left", "left", "←", "Select the board on the left; while paused, one step back; move the cursor"),
    Key("select.right", "right", "→", "Select the board on the right; while paused, one step forward; move the cursor"),
    Key("travel.back", "shift+left", "Shift+←", "While paused: ten steps back", DEBUGGER),
    Key("travel.on", "shift+right", "Shift+→", "While paused: ten steps forward", DEBUGGER),
    Key("select.up", "up", "↑", "Select the board above; in one environment, the previous seat; zoom in"),
    Key("select.down", "down", "↓", "Select the board below; in one environment, the next seat; zoom out"),
    Key("accept", "enter", "Enter", "Open the selected board, show one curve on the whole screen, or restart now"),
    Key("interrupt", "ctrl+c,ctrl+q", "Ctrl+C", "Stop the session and quit", APP, priority=True),
    Key("cancel", "escape", "Esc", "Cancel a restart, remove the cursor, end the zoom, or back to the summary"),
)
HELP: dict[str, tuple[tuple[str, str], ...]] = {
    VIEWS: (
        ("view.next view.previous", "next, previous view"),
        ("view.summary env.1-9 env.number", "summary, environment"),
        ("view.timing view.learning view.workers", "time, curves, workers"),
        ("view.logs logs.search", "output, search it"),
        ("members member.previous member.next", "all ranks, one"),
        ("page.next page.previous", "next, previous page"),
        ("select.left select.right select.up select.down", "select; paused: step"),
        ("accept", "open; restart now"),
        ("cancel", "back; cancel restart"),
    ),
    "Debugging": (
        ("pause", "pause, resume"),
        ("step steps", "one step, many steps"),
        ("episode", "to end of episode"),
        ("inspect", "inspect"),
        ("record episodes", "record, list episodes"),
        ("state", "paused: save the state"),
        ("breaks play", "breakpoints, play"),
        ("travel.back travel.on", "paused: 10 steps"),
        ("travel.first travel.last", "oldest, newest step"),
        ("faster slower unlimited", "speed, no limit"),
    ),
    CURVES: (
        ("select.left select.right", "cursor"),
        ("curves.in curves.out", "zoom in, zoom out"),
        ("curves.smooth curves.log axis", "smooth, log, x axis"),
        ("curves.choose curves.runs", "choose, other runs"),
        ("accept", "one on the whole screen"),
    ),
    ENVIRONMENTS: (
        ("envs.fewer envs.more", "one fewer, one more"),
        ("envs.half envs.double", "half, twice as many"),
        ("envs.number", "set the number"),
        ("baseline", "measure the baseline"),
        ("sweep", "measure several N"),
    ),
    "Other": (
        ("runs", "runs: show, resume"),
        ("screenshot control", "picture, take control"),
        ("palette", "commands; change keys"),
        ("settings help", "settings, this help"),
        ("quit interrupt", "stop or detach; stop"),
    ),
}
"""Lines of the help by heading: command ids and a description."""
NAMES = {
    "pagedown": "PgDn",
    "pageup": "PgUp",
    "escape": "Esc",
    "home": "Home",
    "end": "End",
    "shift+left": "Shift+←",
    "shift+right": "Shift+→",
    "left": "←",
    "right": "→",
    "up": "↑",
    "down": "↓",
}


class KeyClash(BadParameter):
    """Two commands have the same key."""

    title = "Bad preferences"


def customised(table: tuple[Key, ...], wanted: Mapping[str, str]) -> tuple[Key, ...]:
    """Return the table with the user's own keys. A default key that the user gave to another command is left out.

    Args:
        table: The default keys.
        wanted: The user's keys by command id.

    Raises:
        UnknownName: There is no such id.
        KeyClash: Two commands of `wanted` have the same key.
    """
    for name in wanted:
        if name not in {key.id for key in table}:
            raise UnknownName("command id", name, [key.id for key in table])
    owners: dict[str, str] = {}
    for name, keys in wanted.items():
        _claim(owners, name, _pressed(keys))
    return tuple(
        replace(key, keys=keys, shown=_spelled(keys) if keys != key.keys else key.shown)
        for key in table
        for keys in [wanted.get(key.id) or ",".join(name for name in _pressed(key.keys) if name not in owners)]
    )


def _claim(owners: dict[str, str], command: str, pressed: Sequence[str]) -> None:
    for name in pressed:
        if owners.setdefault(name, command) != command:
            raise KeyClash(f"{owners[name]} and {command} have the same key {name}; choose another for one")


def _pressed(keys: str) -> list[str]:
    """Return Textual's names of keys separated by commas."""
    return [binding.key for binding in Binding.make_bindings([(keys, "", "")])] if keys else []


def _spelled(keys: str) -> str:
    """Return the first of several keys as the help shows it, or none."""
    if not keys:
        return "none"
    first = keys.partition(",")[0].strip() or keys
    first = "+" if first == "plus" else first
    letter = key_to_character(first) or ""
    if first in NAMES or (letter.isprintable() and letter.strip()):
        return NAMES.get(first, letter)
    return "+".join(part.capitalize() for part in first.split("+"))


def table() -> dict[str, Key]:
    """Return all keys by command id, with the user's preferences applied.

    Raises:
        UnknownName: The preferences contain an unknown command id.
        KeyClash: Two commands have the same key.
    """
    return _table(tuple(preferences().keys.items()))


@lru_cache(maxsize=1)
def _table(wanted: tuple[tuple[str, str], ...]) -> dict[str, Key]:
    return {key.id: key for key in customised((*KEYS, *QUIET), dict(wanted))}


def shown(command: str) -> str:
    """Return a command's key as the app shows it."""
    return table()[command].shown


def together(commands: Sequence[str]) -> str:
    """Return the keys of commands side by side, with a common modifier only once: `Shift+← →`."""
    keys = [f"{shown('env.1')}-{shown('env.9')}" if name == "env.1-9" else shown(name) for name in commands]
    start = keys[0].rpartition("+")[0] + "+"
    shared = len(start) > 1 and all(key.startswith(start) for key in keys)
    return " ".join([keys[0], *(key.removeprefix(start) if shared else key for key in keys[1:])])


class HelpEntry(NamedTuple):
    """A line of the help: keys, a description, and the ids of the commands."""

    shown: str
    text: str
    names: tuple[str, ...]


def help_entries() -> dict[str, list[HelpEntry]]:
    """Return the lines of the help by heading."""
    return {
        heading: [HelpEntry(together(names.split()), text, tuple(names.split())) for names, text in entries]
        for heading, entries in HELP.items()
    }


def bindings() -> list[BindingType]:
    """Return the keys as bindings of Textual."""
    return [
        Binding(key.keys, f"run_command('{key.id}')", key.title, id=key.id, show=False, priority=key.priority)
        for key in table().values()
        if key.keys
    ]


def owner_of(pressed: str) -> Key | None:
    """Return the command that has a key, given by Textual's name, if there is one."""
    return next((key for key in table().values() if pressed in _pressed(key.keys)), None)


def rebound(command: str, keys: str) -> dict[str, str]:
    """Return the user's keys by command id after a command has got others.

    Raises:
        KeyClash: Another command has one of them.
    """
    return _wanted({command: keys})


def swapped(command: str, other: str) -> dict[str, str]:
    """Return the user's keys by command id after two commands have swapped theirs."""
    return _wanted({command: table()[other].keys, other: table()[command].keys})


def _wanted(changes: Mapping[str, str]) -> dict[str, str]:
    """Return the user's keys by command id after some have changed; defaults are left out."""
    owners: dict[str, str] = {}
    for key in table().values():
        _claim(owners, key.id, _pressed(changes.get(key.id, key.keys)))
    usual = {key.id: key.keys for key in (*KEYS, *QUIET)}
    return {name: keys for name, keys in {**preferences().keys, **changes}.items() if keys != usual[name]}
