"""The palette, the signs, and rows of styled text: what everything on the screen is made of.

Every Segment has a style of its own: under `NO_COLOR`, Textual fails on one that has none.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style

Row: TypeAlias = tuple[Segment, ...]

GROUND = "#10141b"
RAISED = "#1a212c"
LINE = "#2c3644"
FAINT = "#5b6778"
SOFT = "#8793a5"
TEXT = "#c9d1dc"
BRIGHT = "#f2f5f9"
ACCENT = "#7cb0f5"
GREEN = "#86c58b"
RED = "#ee7d81"
YELLOW = "#d9bd74"
MAGENTA = "#d08be0"
CYAN = "#6cc6cf"
ORANGE = "#e2a06a"

TONES = {"good": GREEN, "bad": RED, "neutral": YELLOW}


@cache
def ink(color: str = TEXT, ground: str | None = None, *, bold: bool = False) -> Style:
    """Return the style of a colour on a ground."""
    return Style(color=color, bgcolor=ground, bold=bold or None)


def part(text: str, color: str = TEXT, *, ground: str | None = None, bold: bool = False) -> Segment:
    """Return styled text."""
    return Segment(text, ink(color, ground, bold=bold))


def blank(width: int) -> Segment:
    """Return `width` spaces."""
    return Segment(" " * max(0, width), ink())


def width_of(row: Iterable[Segment]) -> int:
    """Return the columns that a row takes."""
    return sum(cell_len(segment.text) for segment in row)


def fit(text: str, width: int) -> str:
    """Return `text` in exactly `width` columns, cut with an ellipsis or padded."""
    if cell_len(text) <= width:
        return set_cell_size(text, max(0, width))
    return set_cell_size(text, max(0, width - 1)) + "…" if width > 0 else ""


def spread(left: Row, right: Row, width: int) -> Row:
    """Return both ends of a row of `width` columns; the right one goes where there is no room for both."""
    room = width - width_of(left) - width_of(right)
    return (*left, blank(room), *right) if room > 0 else left


@dataclass(frozen=True)
class Signs:
    """The characters that say something without words, for a kind of terminal."""

    good: str
    bad: str
    neutral: str
    stepping: str
    paused: str
    broken: str
    dot: str
    braille: bool
    corners: str
    bars: str


RICH = Signs("✓", "✗", "○", "▸", "‖", "!", "●", braille=True, corners="╭╮╰╯", bars=" ▏▎▍▌▋▊▉█")
PLAIN = Signs("+", "x", "o", ">", "=", "!", "*", braille=False, corners="┌┐└┘", bars=" ▌█")


def signs_for(environment: Mapping[str, str]) -> Signs:
    """Return the plain signs for the Linux console, whose font has few, and the rich ones elsewhere."""
    return PLAIN if environment.get("TERM") in {"linux", "dumb"} else RICH


SIGNS = signs_for(os.environ)


def bar(share: float, width: int, color: str, *, ground: str = RAISED) -> Row:
    """Return a bar of `width` columns, filled to `share` in eighths of a column."""
    if width <= 0:
        return ()
    steps = len(SIGNS.bars) - 1
    filled = round(min(1.0, max(0.0, share if share == share else 0.0)) * width * steps)  # noqa: PLR0124
    whole, rest = divmod(filled, steps)
    text = SIGNS.bars[-1] * whole + (SIGNS.bars[rest] if rest else "")
    return (part(text, color, ground=ground), part(" " * (width - len(text)), color, ground=ground))
