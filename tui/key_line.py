"""The last line of the screen: the most useful keys for what is on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from ..training.telemetry.records import Phase
from ..training.units import plural
from .drawing.styles import BRIGHT, FAINT, RAISED, SOFT, Row, blank, styled, width_of
from .keys import together

Hints: TypeAlias = tuple[tuple[str, str], ...]
"""Command ids, separated by spaces, and a word for them; the most useful ones first."""

ALWAYS: Hints = (("help", "help"), ("quit", "quit"))
BROWSE: Hints = (
    ("view.next", "view"),
    ("env.1-9", "{env}"),
    ("view.learning", "curves"),
    ("view.timing", "timing"),
    ("view.workers", "workers"),
    ("view.logs", "output"),
)
CURVES: Hints = (
    ("select.left select.right", "cursor"),
    ("curves.in curves.out", "zoom"),
    ("curves.smooth", "smooth"),
    ("curves.log", "log"),
    ("axis", "x axis"),
    ("curves.runs", "compare"),
    ("curves.choose", "choose"),
)
RESIZE: Hints = (("envs.fewer envs.more", "{envs}"), ("baseline", "baseline"))
RUNNING: dict[str, Hints] = {
    "summary": (("pause", "pause"), *BROWSE, ("accept", "open"), ("breaks", "breaks"), *RESIZE, ("runs", "runs")),
    "environment": (
        ("pause", "pause"),
        ("inspect", "inspect"),
        ("episode", "to end"),
        ("record", "record"),
        ("play", "play"),
        ("breaks", "breaks"),
        ("faster slower", "speed"),
        *BROWSE[:1],
        ("cancel", "summary"),
    ),
    "timing": (("pause", "pause"), *BROWSE, *RESIZE, ("sweep", "sweep")),
    "members": (("pause", "pause"), ("page.next", "page"), ("view.summary", "summary"), *BROWSE[2:]),
    "learning": (*CURVES[:2], ("page.next", "page"), ("pause", "pause"), *CURVES[2:], *BROWSE[:2], *BROWSE[3:]),
    "workers": (("pause", "pause"), ("page.next", "page"), *BROWSE[:4], *BROWSE[5:], *RESIZE),
    "logs": (
        ("logs.search", "search"),
        ("select.up select.down", "scroll"),
        ("page.previous page.next", "pages"),
        ("travel.last", "follow"),
        ("pause", "pause"),
        *BROWSE[:-1],
    ),
}
PAUSED: Hints = (
    ("pause", "resume"),
    ("step", "step"),
    ("steps", "steps"),
    ("accept", "open"),
    ("inspect", "inspect"),
    ("breaks", "breaks"),
    *BROWSE,
    *RESIZE,
)
PAUSED_ENVIRONMENT: Hints = (
    ("select.left select.right", "time"),
    ("pause", "resume"),
    ("episode", "to end"),
    ("record", "record"),
    ("play", "play"),
    ("inspect", "inspect"),
    ("step", "step"),
    ("travel.first travel.last", "oldest, newest"),
    ("breaks", "breaks"),
    ("steps", "steps"),
    ("cancel", "summary"),
)
STARTING: Hints = (("view.logs", "output"), ("view.summary", "summary"), ("settings", "settings"))
OVER: Hints = (
    ("view.logs", "output"),
    ("view.learning", "curves"),
    ("runs", "runs"),
    *BROWSE[:2],
    ("screenshot", "picture"),
)
MEMBERS: Hints = (("member.previous member.next", "switch"), ("members", "all"))
REPLAY: Hints = (
    ("select.left select.right", "step"),
    ("pause", "play"),
    ("travel.first travel.last", "first, last"),
    ("inspect", "inspect"),
    ("faster slower", "speed"),
    ("travel.back travel.on", "10 steps"),
    ("screenshot", "picture"),
)


class Situation(NamedTuple):
    """What the key line depends on.

    Attributes:
        phase: What the session is doing.
        view: Name of the view.
        env: The trainer's word for an environment.
        travels: Whether the arrow keys go through time.
        replay: Whether a recorded episode is shown.
        pages: Number of pages of the view.
        members: Whether several sessions are shown.
    """

    phase: Phase
    view: str
    env: str
    travels: bool = False
    replay: bool = False
    pages: int = 1
    members: bool = False


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
        return PAUSED_ENVIRONMENT
    if phase is Phase.PAUSED and view == "summary":
        return PAUSED
    if phase is Phase.PAUSED:
        return tuple((name, "resume" if name == "pause" else word) for name, word in RUNNING[view])
    return RUNNING[view]


def key_line(width: int, situation: Situation, unavailable: Callable[[str], str] = lambda _: "") -> Row:
    """Return the keys that fit into `width` columns, `unavailable` ones last and grey; help and quit always."""
    words = {"{env}": situation.env, "{envs}": plural(situation.env)}
    first, *others = hints(situation)
    listed = (first, *(MEMBERS if situation.members else ()), *others)
    shown = [hint for hint in listed if situation.pages > 1 or hint[0] != "page.next"]
    found = [(bool(unavailable(names.split()[-1])), names, words.get(word, word)) for names, word in shown]
    parts = [_key(names, word, grey=grey) for grey, names, word in sorted(found, key=lambda item: item[0])]
    end = tuple(segment for names, word in ALWAYS for segment in _key(names, word, grey=False))
    row: Row = ()
    for part in parts:
        if width_of((*row, *part, *end)) > width:
            break
        row = (*row, *part)
    row = (*row, *end)
    return (*row, blank(width - width_of(row), RAISED))


def _key(names: str, word: str, *, grey: bool) -> Row:
    letter, text = (FAINT, FAINT) if grey else (BRIGHT, SOFT)
    keys = f" {together(names.split())} "
    return styled(keys, letter, ground=RAISED, bold=not grey), styled(f"{word} ", text, ground=RAISED)
