"""All keys in one table, from which bindings, footer, help and command palette are made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from textual.binding import Binding, BindingType

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
        hint: One word for the footer; empty if the footer does not show it.
        priority: Whether it overrides the keys of the focused widget.
    """

    id: str
    keys: str
    shown: str
    title: str
    hint: str = ""
    priority: bool = False


VIEWS, PLAY, SCALE, OTHER = "Views", "Debugging", "Environments", "Other"

KEYS: tuple[Key, ...] = (
    Key("view.next", "tab", "Tab", "Next view: summary, environment 1 to N", "view", priority=True),
    Key("view.previous", "shift+tab", "Shift+Tab", "Previous view", priority=True),
    Key("view.summary", "0", "0", "Summary of all environments"),
    Key("view.timing", "t", "t", "Timing: time per phase of a step", "timing"),
    Key("view.learning", "l", "l", "Learning curves", "learning"),
    Key("view.workers", "w", "w", "Workers and events", "workers"),
    Key("view.logs", "o", "o", "Output of training and workers"),
    Key("logs.search", "slash", "/", "Search the output"),
    Key("page.next", "pagedown", "PgDn", "Next page, or ten steps forward while paused"),
    Key("page.previous", "pageup", "PgUp", "Previous page, or ten steps back while paused"),
    Key("axis", "x", "x", "Curves over steps or time"),
    Key("env.number", "e", "e", "Show an environment by number"),
    Key("pause", "space", "Space", "Pause or resume", "pause"),
    Key("step", "n", "n", "One step of every environment", "step"),
    Key("steps", "N", "N", "Run a number of steps"),
    Key("episode", "f", "f", "Run to the end of the shown environment's episode"),
    Key("breaks", "b", "b", "Breakpoints: pause when a condition holds", "breaks"),
    Key("inspect", "i", "i", "Inspect: observation, mask, value, probabilities, reward terms", "inspect"),
    Key("record", "r", "r", "Record the next episode of the shown environment"),
    Key("play", "p", "p", "Play the shown environment by hand"),
    Key("travel.first", "home", "Home", "While paused: oldest stored step"),
    Key("travel.last", "end", "End", "While paused: current step"),
    Key("faster", "plus,equals_sign", "+", "Twice as fast"),
    Key("slower", "minus", "-", "Half as fast"),
    Key("unlimited", "m", "m", "No speed limit"),
    Key("envs.fewer", "left_square_bracket", "[", "Restart with one environment fewer"),
    Key("envs.more", "right_square_bracket", "]", "Restart with one environment more"),
    Key("envs.half", "left_curly_bracket", "{", "Restart with half the environments"),
    Key("envs.double", "right_curly_bracket", "}", "Restart with twice the environments"),
    Key("envs.number", "number_sign", "#", "Restart with a given number of environments"),
    Key("baseline", "B", "B", "Measure the baseline: fps of one environment", "baseline"),
    Key("sweep", "v", "v", "Sweep: measure several N, then return to this one"),
    Key("runs", "R", "R", "Runs: open a running one, resume a stopped one"),
    Key("screenshot", "s", "s", "Save a picture of the screen"),
    Key("help", "question_mark", "?", "All keys", "help"),
    Key("palette", "ctrl+p", "Ctrl+P", "All commands by name"),
    Key("control", "c", "c", "Take control from another viewer"),
    Key("quit", "q", "q", "Quit: stop the session, or detach from it", "quit"),
)
QUIET: tuple[Key, ...] = (
    *(Key(f"env.{k}", str(k), str(k), f"Environment {k}") for k in range(1, 10)),
    Key("select.left", "left", "←", "Select the board on the left; while paused, one step back"),
    Key("select.right", "right", "→", "Select the board on the right; while paused, one step forward"),
    Key("travel.back", "shift+left", "Shift+←", "While paused: ten steps back"),
    Key("travel.on", "shift+right", "Shift+→", "While paused: ten steps forward"),
    Key("select.up", "up", "↑", "Select the board above; in one environment, the previous seat"),
    Key("select.down", "down", "↓", "Select the board below; in one environment, the next seat"),
    Key("accept", "enter", "Enter", "Open the selected board, or restart now"),
    Key("interrupt", "ctrl+c,ctrl+q", "Ctrl+C", "Stop the session and quit", priority=True),
    Key("cancel", "escape", "Esc", "Cancel a restart, or back to the summary"),
)
HELP: dict[str, tuple[tuple[str, str], ...]] = {
    VIEWS: (
        ("view.next view.previous", "next, previous view"),
        ("view.summary env.1-9 env.number", "summary, environment"),
        ("view.timing view.learning view.workers", "time, curves, workers"),
        ("view.logs logs.search", "output, search it"),
        ("page.next page.previous", "next, previous page"),
        ("axis", "over steps or time"),
        ("select.left select.right select.up select.down", "select; paused: step"),
        ("accept", "open; restart now"),
        ("cancel", "back; cancel restart"),
    ),
    PLAY: (
        ("pause", "pause, resume"),
        ("step steps", "one step, many steps"),
        ("episode", "to end of episode"),
        ("inspect record", "inspect, record"),
        ("breaks play", "breakpoints, play"),
        ("travel.back travel.on", "paused: 10 steps"),
        ("travel.first travel.last", "oldest, newest step"),
        ("faster slower unlimited", "speed, no limit"),
    ),
    SCALE: (
        ("envs.fewer envs.more", "one fewer, one more"),
        ("envs.half envs.double", "half, twice as many"),
        ("envs.number", "set the number"),
        ("baseline", "measure the baseline"),
        ("sweep", "measure several N"),
    ),
    OTHER: (
        ("runs", "runs: show, resume"),
        ("screenshot", "picture of the screen"),
        ("help", "this help"),
        ("palette", "all commands by name"),
        ("control", "take control"),
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
    """Return the table with the user's own keys.

    Args:
        table: The default keys.
        wanted: The user's keys by command id.

    Raises:
        UnknownName: There is no such id.
        KeyClash: Two commands would have the same key.
    """
    for name in wanted:
        if name not in {key.id for key in table}:
            raise UnknownName("command id", name, [key.id for key in table])
    changed = tuple(
        replace(key, keys=wanted[key.id], shown=_spelled(wanted[key.id])) if key.id in wanted else key for key in table
    )
    owners: dict[str, str] = {}
    for key in changed:
        for pressed in _pressed(key):
            if pressed in owners and (key.id in wanted or owners[pressed] in wanted):
                raise KeyClash(f"{owners[pressed]} and {key.id} have the same key {pressed}; choose another for one")
            owners[pressed] = key.id
    return changed


def _pressed(key: Key) -> list[str]:
    """Return Textual's names of a key's keys."""
    return [binding.key for binding in Binding.make_bindings([(key.keys, key.id, key.title)])]


def _spelled(keys: str) -> str:
    """Return the first of several keys as the help shows it."""
    first = keys.partition(",")[0].strip() or keys
    return NAMES.get(first) or (first if len(first) == 1 else "+".join(part.capitalize() for part in first.split("+")))


TABLE = customised((*KEYS, *QUIET), preferences().keys)
"""All keys, with the user's preferences applied."""
SHOWN = {key.id: key.shown for key in TABLE}


def help_entries() -> dict[str, list[tuple[str, str]]]:
    """Return the lines of the help by heading: keys and a description."""
    digits = SHOWN["env.1"], SHOWN["env.9"]
    shown = {**SHOWN, "env.1-9": "-".join(digits)}
    return {
        heading: [(_together([shown[name] for name in names.split()]), text) for names, text in entries]
        for heading, entries in HELP.items()
    }


def _together(keys: Sequence[str]) -> str:
    """Return keys side by side, with a common modifier only once: `Shift+← →`."""
    start = keys[0].rpartition("+")[0] + "+"
    shared = len(start) > 1 and all(key.startswith(start) for key in keys)
    return " ".join([keys[0], *(key.removeprefix(start) if shared else key for key in keys[1:])])


def commands() -> list[Key]:
    """Return the entries that the command palette lists."""
    return [key for key in TABLE if key.id not in {quiet.id for quiet in QUIET}]


def bindings() -> list[BindingType]:
    """Return the keys as bindings of Textual."""
    return [
        Binding(key.keys, f"run_command('{key.id}')", key.title, id=key.id, show=bool(key.hint), priority=key.priority)
        for key in TABLE
    ]
