"""All keys in one table, from which bindings, help, footer, command palette and their availability are made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Flag, auto
from functools import lru_cache
from typing import NamedTuple

from textual.binding import Binding, BindingType
from textual.keys import key_to_character

from ..envs import BadParameter, UnknownName
from .preferences import preferences


class Needs(Flag):
    """What must be true for a command to be available; `app/availability.py` checks it.

    After a script has ended, commands that need anything leave the app, as any other key does.
    """

    NOTHING = 0
    SCRIPT = auto()  # nothing but that the script has not ended
    SESSION = auto()  # the session has not ended
    TRAINING = auto()  # what is shown is a training, and no recorded episode
    OWN = auto()  # the session itself runs the environments, and no script
    EPISODES = auto()  # the environments have episodes
    STATE = auto()  # the session is paused, and its task makes files of a state
    MEMBERS = auto()  # several sessions are shown
    LIVE = auto()  # the trainer has settings that can be changed while it trains
    RESIZING = SESSION | TRAINING | OWN


@dataclass(frozen=True)
class Key:
    """A command and its keys.

    Attributes:
        id: Name of the command in the preferences.
        keys: Key names of Textual, separated by commas.
        title: Description in the command palette.
        do: What it does, as an action of Textual on the app or on one of its parts.
        help: Words of the help's line that begins with this key; a key without words is on the line of the one before.
        word: Word in the footer; the last part of the id if it is empty.
        needs: What must be true for it to be available.
        view: The view that is shown first.
        within: The views, separated by spaces, in which alone it does something after a script has ended.
        priority: Whether it overrides the keys of the focused widget.
        group: Heading in the help and in the command palette.
    """

    id: str
    keys: str
    title: str
    do: str
    help: str = ""
    word: str = ""
    needs: Needs = Needs.NOTHING
    view: str = ""
    within: str = ""
    priority: bool = False
    group: str = ""

    @property
    def shown(self) -> str:
        """The first of the keys as the app shows it."""
        return _spelled(self.keys)


SCRIPT, SESSION, RESIZING, MEMBERS = Needs.SCRIPT, Needs.SESSION, Needs.RESIZING, Needs.MEMBERS
TRAINING, EPISODES = Needs.SESSION | Needs.TRAINING, Needs.SESSION | Needs.EPISODES
OWN_EPISODES = Needs.RESIZING | Needs.EPISODES
# fmt: off
TABLE: dict[str, tuple[Key, ...]] = {
    "Views": (
        Key("view.next", "tab", "Next view: summary, environment 1 to N", "navigation.next_tab(1)",
            help="next, previous view", word="view", priority=True),
        Key("view.previous", "shift+tab", "Previous view", "navigation.next_tab(-1)", priority=True),
        Key("view.summary", "0", "Summary of all environments", "navigation.show('summary')",
            help="summary, environment"),
        *(Key(f"env.{k}", str(k), f"Environment {k}", f"navigation.open_environment({k})") for k in range(1, 10)),
        Key("env.number", "e", "Show an environment by number", "dialogs.ask_environment"),
        Key("view.timing", "t", "Timing: time per phase of a step", "navigation.show('timing')",
            help="time, curves, others"),
        Key("view.steps", "T", "Timeline: what each process does in a step, and who is waited for",
            "navigation.show('steps')", word="timeline"),
        Key("view.learning", "l", "Learning curves", "navigation.show('learning')", word="curves"),
        Key("view.workers", "w", "Workers and events", "navigation.show('workers')"),
        Key("view.diagnosis", "d", "Diagnosis: what is wrong with the training, and what to try",
            "navigation.show('diagnosis')", word="diagnosis"),
        Key("hot", "H", "Hot lines: where the time goes, line by line, while this is shown", "dialogs.hot_lines",
            word="hot lines", needs=SESSION),
        Key("stacks", "K", "Stacks: where every thread of every process is, also if the training is stuck",
            "dialogs.stacks", word="stacks", needs=SESSION),
        Key("view.logs", "o", "Output of training and workers", "navigation.show('logs')",
            help="output, memory", word="output"),
        Key("logs.search", "slash", "Search the output", "dialogs.ask_search", within="logs"),
        Key("memory", "M", "Memory of each process over time, what it is for, lines that allocate, and the GPU",
            "dialogs.memory", word="memory", needs=SESSION),
        Key("members", "a", "All ranks or sessions on one page", "navigation.show('members')",
            help="all ranks, one", word="all", needs=MEMBERS),
        Key("member.previous", "less_than_sign", "Previous rank or session", "switch_member(-1)", needs=MEMBERS),
        Key("member.next", "greater_than_sign", "Next rank or session", "switch_member(1)", needs=MEMBERS),
        Key("page.next", "pagedown", "Next page, or ten steps forward while paused", "navigation.turn_page(1)",
            help="next, previous page", word="page"),
        Key("page.previous", "pageup", "Previous page, or ten steps back while paused", "navigation.turn_page(-1)"),
        Key("select.left", "left", "Select the board on the left; while paused, one step back; move the cursor",
            "navigation.move(-1, 0)", help="select; paused: step"),
        Key("select.right", "right", "Select the board on the right; while paused, one step forward; move the cursor",
            "navigation.move(1, 0)"),
        Key("select.up", "up", "Select the board above; in one environment, the previous seat; zoom in",
            "navigation.move(0, -1)"),
        Key("select.down", "down", "Select the board below; in one environment, the next seat; zoom out",
            "navigation.move(0, 1)"),
        Key("accept", "enter", "Open the selected board, show one curve on the whole screen, or restart now",
            "accept", help="open; restart now", word="open", within="learning logs diagnosis steps"),
        Key("cancel", "escape", "Cancel a restart, remove the cursor, end the zoom, or back to the summary",
            "cancel", help="back; cancel restart", word="summary",
            within="environment learning logs members timing workers diagnosis steps"),
    ),
    "Debugging": (
        Key("pause", "space", "Pause or resume", "training.toggle_pause", help="pause, resume", needs=SESSION),
        Key("step", "n", "One step of every environment", "training.step",
            help="one step, many steps", needs=SESSION),
        Key("steps", "N", "Run a number of steps", "dialogs.ask_steps", needs=TRAINING),
        Key("episode", "f", "Run to the end of the shown environment's episode", "training.finish_episode",
            help="to end of episode", word="to end", needs=EPISODES),
        Key("inspect", "i", "Inspect: observation, mask, value, probabilities, reward terms", "navigation.inspect",
            help="inspect; saliency"),
        Key("saliency", "I", "Saliency: what the policy's choice depends on in the observation",
            "navigation.show_saliency", needs=EPISODES | TRAINING),
        Key("record", "r", "Record the next episode of the shown environment", "training.record",
            help="record, list episodes", needs=OWN_EPISODES),
        Key("episodes", "E", "Episodes: the last ones of all environments; replay one", "dialogs.episodes",
            needs=EPISODES | TRAINING),
        Key("state", "g", "While paused: save the shown state as files", "save_state",
            help="paused: save the state", needs=SESSION | Needs.STATE),
        Key("breaks", "b", "Breakpoints: pause when a condition holds", "dialogs.breakpoints",
            help="breakpoints, play, ask", needs=Needs.TRAINING),
        Key("play", "p", "Play the shown environment by hand; on a past step, branch",
            "dialogs.play_by_hand", needs=OWN_EPISODES),
        Key("against", "A", "While paused: what another policy would do at these steps", "dialogs.ask_against",
            word="ask another", needs=EPISODES | Needs.OWN),
        Key("travel.back", "shift+left", "While paused: ten steps back", "navigation.travel(-10)",
            help="paused: 10 steps"),
        Key("travel.on", "shift+right", "While paused: ten steps forward", "navigation.travel(10)"),
        Key("travel.first", "home", "While paused: oldest stored step", "navigation.travel_to_end(-1)",
            help="oldest, newest step"),
        Key("travel.last", "end", "While paused: current step", "navigation.travel_to_end(1)", word="follow"),
        Key("faster", "plus,equals_sign", "Twice as fast", "training.scale_speed(2.0)",
            help="speed, no limit", needs=SESSION),
        Key("slower", "minus", "Half as fast", "training.scale_speed(0.5)", needs=SESSION),
        Key("unlimited", "m", "No speed limit", "training.remove_speed_limit", needs=TRAINING),
    ),
    "Curves": (
        Key("curves.in", "z", "Zoom in, around the cursor or the newest value", "curves.zoom_in(1)",
            help="zoom in, zoom out", view="learning"),
        Key("curves.out", "Z", "Zoom out", "curves.zoom_in(-1)", view="learning"),
        Key("curves.smooth", "S", "Smooth the curves", "curves.smooth", help="smooth, log, x axis", view="learning"),
        Key("curves.log", "y", "Logarithmic y axes", "curves.toggle_log", view="learning"),
        Key("axis", "x", "Curves over steps, time or frames", "curves.next_axis", word="x axis", within="learning"),
        Key("curves.choose", "C", "Choose, order and pin the curves", "dialogs.curves",
            help="choose, other runs", view="learning"),
        Key("curves.runs", "O", "Compare with other runs", "dialogs.other_runs", word="compare", view="learning"),
    ),
    "Environments": (
        Key("envs.fewer", "left_square_bracket", "Restart with one environment fewer", "training.add_envs(-1)",
            help="one fewer, one more", needs=RESIZING),
        Key("envs.more", "right_square_bracket", "Restart with one environment more", "training.add_envs(1)",
            needs=RESIZING),
        Key("envs.half", "left_curly_bracket", "Restart with half the environments", "training.multiply_envs(0.5)",
            help="half, twice as many", needs=RESIZING),
        Key("envs.double", "right_curly_bracket", "Restart with twice the environments",
            "training.multiply_envs(2.0)", needs=RESIZING),
        Key("envs.number", "number_sign", "Restart with a given number of environments", "dialogs.ask_envs",
            help="set the number", needs=RESIZING),
        Key("baseline", "B", "Measure the baseline: fps of one environment", "training.send('baseline')",
            help="measure the baseline", needs=RESIZING),
        Key("live", "L", "Change settings of the trainer while it trains", "dialogs.live_settings",
            help="trainer's settings", word="trainer", needs=TRAINING | Needs.LIVE),
        Key("sweep", "v", "Sweep: measure several N, then return to this one", "dialogs.sweep",
            help="measure several N", needs=RESIZING),
    ),
    "Other": (
        Key("runs", "R", "Runs: open a running one, resume a stopped one", "dialogs.runs",
            help="runs: show, resume", needs=SCRIPT),
        Key("screenshot", "s", "Save a picture of the screen", "save_picture",
            help="picture, take control", word="picture"),
        Key("trace", "W", "Write a trace of the next five seconds, for ui.perfetto.dev", "save_trace", needs=SESSION),
        Key("control", "c", "Take control from another viewer", "training.send('control')", needs=TRAINING),
        Key("palette", "ctrl+p", "All commands by name; change their keys", "dialogs.palette",
            help="commands; change keys"),
        Key("settings", "comma", "Settings: theme, characters, colors, refresh rates, diagnosis", "dialogs.settings",
            help="settings, this help"),
        Key("help", "question_mark", "All keys", "dialogs.help"),
        Key("quit", "q", "Quit: stop the session, or detach from it", "dialogs.leave",
            help="stop or detach; stop", needs=SCRIPT),
        Key("interrupt", "ctrl+c,ctrl+q", "Stop the session and quit", "ending.interrupt", needs=SCRIPT,
            priority=True),
    ),
}
# fmt: on
KEYS = tuple(replace(key, group=group) for group, keys in TABLE.items() for key in keys)
GROUPS = ("Debugging", "Environments", "Views", "Curves", "Other")
"""Order of the headings in the command palette."""
OTHERWISE = {"Curves": (("select.left select.right", "cursor"), ("accept", "one on the whole screen"))}
"""Lines of the help under a heading for keys that are listed under another one, too."""
NUMBERED = frozenset(f"env.{k}" for k in range(2, 10))  # `env.1-9` stands for them
NAMES = {
    "plus": "+",
    "minus": "-",
    "slash": "/",
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
        replace(key, keys=keys)
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
    return {key.id: key for key in customised(KEYS, dict(wanted))}


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
    found = {}
    for heading, keys in TABLE.items():
        lines: list[tuple[list[str], str]] = []
        for key in keys:
            if key.help:
                lines.append(([], key.help))
            if key.id not in NUMBERED:
                lines[-1][0].append("env.1-9" if key.id == "env.1" else key.id)
        lines += [(names.split(), text) for names, text in OTHERWISE.get(heading, ())]
        found[heading] = [HelpEntry(together(names), text, tuple(names)) for names, text in lines]
    return found


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
    usual = {key.id: key.keys for key in KEYS}
    return {name: keys for name, keys in {**preferences().keys, **changes}.items() if keys != usual[name]}
