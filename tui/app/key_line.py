"""The last line of the screen: the most useful keys for what is on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from rich.segment import Segment
from rich.style import Style

from ...training.telemetry.records import Phase
from ...training.units import plural
from ..drawing.styles import BRIGHT, FAINT, RAISED, SOFT, Row, blank, styled, width_of
from ..keys import table, together

Hints: TypeAlias = tuple[str | tuple[str, str], ...]
"""Command ids, separated by spaces, the most useful ones first; with another word than that in the table of keys."""

ALWAYS: Hints = ("help", "quit")
BROWSE: Hints = ("view.next", ("env.1-9", "{env}"), "view.learning", "view.timing", "view.workers", "view.logs")
CURSOR, TIME, STEP = (("select.left select.right", word) for word in ("cursor", "time", "step"))
ZOOM, PAGES = ("curves.in curves.out", "zoom"), ("page.previous page.next", "pages")
RESUME, PLAY, SPEED = ("pause", "resume"), ("pause", "play"), ("faster slower", "speed")
SCROLL, SELECT, TEN_STEPS = (
    ("select.up select.down", "scroll"),
    ("select.up select.down", "select"),
    ("travel.back travel.on", "10 steps"),
)
OLDEST, FIRST = (("travel.first travel.last", words) for words in ("oldest, newest", "first, last"))
EPISODE: Hints = ("episode", "record", "play")
CURVES: Hints = (
    *(CURSOR, ZOOM, "curves.smooth", ("accept", "large")),
    *("curves.log", "axis", "curves.runs", "curves.choose"),
)
RESIZE: Hints = (("envs.fewer envs.more", "{envs}"), "baseline")
RUNNING: dict[str, Hints] = {
    "summary": ("pause", *BROWSE, "accept", "breaks", *RESIZE, "runs"),
    "environment": ("pause", "inspect", *EPISODE, "breaks", SPEED, BROWSE[0], "cancel"),
    "steps": (
        CURSOR,
        ("select.up select.down", "zoom"),
        ("accept", "range"),
        ("travel.last", "follow"),
        "page.next",
        "pause",
        *BROWSE,
    ),
    "timing": ("pause", "view.steps", *BROWSE, *RESIZE, "sweep"),
    "members": ("pause", "page.next", "view.summary", *BROWSE[2:]),
    "learning": (*CURVES[:2], "page.next", "pause", *CURVES[2:], *BROWSE[:2], *BROWSE[3:]),
    "workers": ("pause", "page.next", *BROWSE[:4], *BROWSE[5:], *RESIZE),
    "diagnosis": (SELECT, "accept", "pause", *BROWSE[:4], *BROWSE[5:]),
    "logs": ("logs.search", SCROLL, PAGES, "travel.last", "pause", *BROWSE[:-1]),
}
PAUSED: Hints = (RESUME, "step", "steps", "accept", "inspect", "breaks", *BROWSE, *RESIZE)
PAUSED_ENVIRONMENT: Hints = (
    *(TIME, RESUME, *EPISODE, "inspect", "step", OLDEST, "against", "breaks", "steps", "cancel"),
)
PAST: Hints = (TIME, ("play", "branch"), "against", OLDEST, "inspect", RESUME, "state", "breaks", "cancel")
STARTING: Hints = ("view.logs", "view.summary", "settings")
OVER: Hints = ("view.logs", "view.learning", "runs", *BROWSE[:2], "screenshot")
MEMBERS: Hints = (("member.previous member.next", "switch"), "members")
REPLAY: Hints = (
    *(STEP, PLAY, FIRST, "inspect", ("play", "branch"), "against", ("record", "film"), SPEED, TEN_STEPS, "screenshot"),
)


class Situation(NamedTuple):
    """What the key line depends on.

    Attributes:
        phase: What the session is doing.
        env: The trainer's word for an environment.
        travels: Whether the arrow keys go through time.
        replay: Whether a recorded episode is shown.
        pages: Number of pages of the view.
        members: Whether several sessions are shown.
        past: Whether an earlier step is shown.
    """

    phase: Phase
    view: str
    env: str
    travels: bool = False
    replay: bool = False
    pages: int = 1
    members: bool = False
    past: bool = False


def hints(situation: Situation) -> Hints:
    """Return the keys of a situation, without those that are always shown."""
    phase, view = situation.phase, situation.view
    if situation.replay and situation.travels:
        return REPLAY
    if phase is Phase.STARTING:
        return STARTING
    if phase.over or phase is Phase.STOPPING:
        return (*CURVES, *OVER) if view == "learning" else OVER
    if situation.travels:
        return PAST if situation.past else PAUSED_ENVIRONMENT
    if phase is Phase.PAUSED and view == "summary":
        return PAUSED
    if phase is Phase.PAUSED:
        return tuple(RESUME if hint == "pause" else hint for hint in RUNNING[view])
    return RUNNING[view]


def key_line(width: int, situation: Situation, unavailable: Callable[[str], str] = lambda _: "") -> Row:
    """Return the keys that fit into `width` columns, `unavailable` ones last and grey; help and quit always."""
    words = {"{env}": situation.env, "{envs}": plural(situation.env)}
    first, *others = hints(situation)
    listed = map(named, (first, *(MEMBERS if situation.members else ()), *others))
    shown = [hint for hint in listed if situation.pages > 1 or hint[0] != "page.next"]
    found = [(bool(unavailable(names.split()[-1])), names, words.get(word, word)) for names, word in shown]
    parts = [_key(names, word, grey=grey) for grey, names, word in sorted(found, key=lambda item: item[0])]
    end = tuple(segment for names, word in map(named, ALWAYS) for segment in _key(names, word, grey=False))
    row: Row = ()
    for part in parts:
        if width_of((*row, *part, *end)) > width:
            break
        row = (*row, *part)
    row = (*row, *end)
    return (*row, blank(width - width_of(row), RAISED))


def named(hint: str | tuple[str, str]) -> tuple[str, str]:
    """Return the command ids of a hint and their word."""
    return (hint, table()[hint].word or hint.rpartition(".")[2]) if isinstance(hint, str) else hint


def _key(names: str, word: str, *, grey: bool) -> Row:
    letter, text = (FAINT, FAINT) if grey else (BRIGHT, SOFT)
    commands = names.split()
    keys = f" {together(commands)} "
    last = keys.rindex(" ", 0, -1) if len(commands) > 1 else 0
    parts = (
        (styled(keys[:last], letter, ground=RAISED, bold=not grey), commands[0]),
        (styled(keys[last:], letter, ground=RAISED, bold=not grey), commands[-1]),
        (styled(f"{word} ", text, ground=RAISED), commands[0]),
    )
    return tuple(_clickable(part, command) for part, command in parts if part.text)


def _clickable(segment: Segment, command: str) -> Segment:
    """Return a text whose click does what a command does. Several keys, as in `1-9`, are no command."""
    if command not in table():
        return segment
    click = Style(meta={"@click": f"app.run_command({command!r})"})
    return segment._replace(style=segment.style + click if segment.style else click)
