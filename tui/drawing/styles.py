"""The palette, the signs, and rows of styled text.

Every Segment has a style: with `NO_COLOR`, Textual fails on segments without one.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style

from ...envs.printable import printable
from ..preferences import preferences
from .palettes import PALETTES

Row: TypeAlias = tuple[Segment, ...]

PALETTE = PALETTES[preferences().theme]
GROUND, RAISED, LINE = PALETTE.ground, PALETTE.raised, PALETTE.line
FAINT, SOFT, TEXT, BRIGHT = PALETTE.faint, PALETTE.soft, PALETTE.text, PALETTE.bright
ACCENT, GREEN, RED, YELLOW = PALETTE.accent, PALETTE.green, PALETTE.red, PALETTE.yellow
MAGENTA, CYAN, ORANGE = PALETTE.magenta, PALETTE.cyan, PALETTE.orange
STEPPING = PALETTE.stepping

TONES = {"good": GREEN, "bad": RED, "neutral": YELLOW}


@cache
def style_of(color: str = TEXT, ground: str = GROUND, *, bold: bool = False) -> Style:
    """Return the style of a color on a background."""
    return Style(color=color, bgcolor=ground, bold=bold or None)


def styled(text: str, color: str = TEXT, *, ground: str = GROUND, bold: bool = False) -> Segment:
    """Return styled text. Characters that are not printable are escaped."""
    return Segment(printable(text), style_of(color, ground, bold=bold))


def blank(width: int, ground: str = GROUND) -> Segment:
    """Return `width` spaces."""
    return Segment(" " * max(0, width), style_of(ground=ground))


def width_of(row: Iterable[Segment]) -> int:
    """Return the columns that a row takes."""
    return sum(cell_len(segment.text) for segment in row)


def fit(text: str, width: int) -> str:
    """Return `text` in exactly `width` columns, cut with an ellipsis or padded. The result is printable."""
    text = printable(text)
    if cell_len(text) <= width:
        return set_cell_size(text, max(0, width))
    return set_cell_size(text, max(0, width - 1)) + "…" if width > 0 else ""


def padded(row: Row, width: int) -> Row:
    """Return a row in exactly `width` columns."""
    room = width - width_of(row)
    if room == 0:
        return row
    return (*row, blank(room)) if room > 0 else tuple(Segment.adjust_line_length(list(row), max(0, width)))


def spread(left: Row, right: Row, width: int, ground: str = GROUND) -> Row:
    """Return a row of `width` columns with two ends; the right end is left out if they do not both fit."""
    room = width - width_of(left) - width_of(right)
    return (*left, blank(room, ground), *right) if room > 0 else left


@dataclass(frozen=True)
class Signs:
    """The symbols for a kind of terminal."""

    good: str
    bad: str
    neutral: str
    stepping: str
    paused: str
    broken: str
    dot: str
    braille: bool
    corners: tuple[str, str, str, str]
    full: str
    half: str
    track: str
    pips: tuple[str, str]


RICH = Signs(
    "✓",
    "✗",
    "○",
    "▸",
    "‖",
    "!",
    "●",
    braille=True,
    corners=("╭", "╮", "╰", "╯"),
    full="━",
    half="╸",
    track="─",
    pips=("★", "•"),
)
PLAIN = Signs(
    "+",
    "x",
    "o",
    ">",
    "=",
    "!",
    "*",
    braille=False,
    corners=("┌", "┐", "└", "┘"),
    full="█",
    half="▌",
    track="░",
    pips=("*", "+"),
)


def signs_for(environment: Mapping[str, str], characters: str) -> Signs:
    """Return the plain signs for ASCII and for the Linux console, whose font is small, and the rich signs elsewhere."""
    if characters == "auto":
        return PLAIN if environment.get("TERM") in {"linux", "dumb"} else RICH
    return RICH if characters == "unicode" else PLAIN


SIGNS = signs_for(os.environ, preferences().characters)


def bar(share: float, width: int, color: str) -> Row:
    """Return a bar of `width` columns, filled to `share` in halves of a column."""
    halves = round(min(1.0, max(0.0, share if math.isfinite(share) else 0.0)) * 2 * max(0, width))
    whole, rest = divmod(halves, 2)
    filled = SIGNS.full * whole + SIGNS.half * rest
    return (styled(filled, color), styled(SIGNS.track * (width - len(filled)), LINE))
