"""The palette, the signs, and rows of styled text.

Every Segment has a style: with `NO_COLOR`, Textual fails on segments without one.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import TypeAlias

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style

from ...envs.printable import printable
from ..preferences import preferences
from .palettes import PALETTES, PALETTES_16, Palette

Row: TypeAlias = tuple[Segment, ...]

GROUND, RAISED, LINE = "ground", "raised", "line"
FAINT, SOFT, TEXT, BRIGHT = "faint", "soft", "text", "bright"
ACCENT, GREEN, RED, YELLOW = "accent", "green", "red", "yellow"
MAGENTA, CYAN, ORANGE = "magenta", "cyan", "orange"
STEPPING = "stepping"
"""Names of the palette's colors. A color is such a name, or `#rrggbb`, which is the same in every theme."""

TONES = {"good": GREEN, "bad": RED, "neutral": YELLOW}


class TerminalColors:
    """What the terminal can show.

    Attributes:
        nearest: Whether it has 256, and each color is replaced by the nearest of these.
        passed_on: Whether it is tmux, which passes all colors on though TERM says that it has fewer.
    """

    sixteen = False
    nearest = False
    passed_on = False


def palette_of(theme: str) -> Palette:
    """Return the palette of a theme for this terminal."""
    return (PALETTES_16 if TerminalColors.sixteen else PALETTES)[theme]


def palette() -> Palette:
    """Return the palette of the theme in use."""
    return palette_of(preferences().theme)


def hex_of(color: str) -> str:
    """Return a color as `#rrggbb`."""
    return str(getattr(palette(), color, color))


NOT_FINITE = frozenset({"NaN", "inf", "-inf"})
"""How numbers that are not finite are written."""


@cache
def style_of(color: str = TEXT, ground: str = GROUND, *, bold: bool = False) -> Style:
    """Return the style of a color on a background."""
    return Style(color=hex_of(color), bgcolor=hex_of(ground), bold=bold or None)


def mixed(color: str, ground: str, share: float) -> str:
    """Return a mixture of two colors, with `share` of the first."""
    pairs = zip(bytes.fromhex(hex_of(color)[1:]), bytes.fromhex(hex_of(ground)[1:]), strict=True)
    return "#" + bytes(round(share * one + (1 - share) * other) for one, other in pairs).hex()


def styled(text: str, color: str = TEXT, *, ground: str = GROUND, bold: bool = False) -> Segment:
    """Return styled text. Characters that are not printable are escaped. One that ends with NaN or infinity is red."""
    if text.rstrip().rpartition(" ")[2] in NOT_FINITE:
        color, bold = RED, True
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


def fit_ends(text: str, width: int) -> str:
    """Return `text` in exactly `width` columns, without its middle if it is longer: names of runs end with a time."""
    text = printable(text)
    if cell_len(text) <= width or width < 3:
        return fit(text, width)
    tail = 2 * (width - 1) // 3
    return fit(f"{text[: width - 1 - tail]}…{text[-tail:]}", width)


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


@dataclass
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
    up: str
    down: str


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
    up="▲",
    down="▼",
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
    up="+",
    down="-",
)


def signs_for(environment: Mapping[str, str], characters: str) -> Signs:
    """Return the plain signs for ASCII and for the Linux console, whose font is small, and the rich signs elsewhere."""
    if characters == "auto":
        return PLAIN if environment.get("TERM") in {"linux", "dumb"} else RICH
    return RICH if characters == "unicode" else PLAIN


SIGNS = replace(signs_for(os.environ, preferences().characters))
"""The symbols in use. `restyle` changes them."""


def restyle() -> None:
    """Use the theme and the symbols of the preferences. What was drawn before must be drawn again."""
    style_of.cache_clear()
    vars(SIGNS).update(vars(signs_for(os.environ, preferences().characters)))


def bar(share: float, width: int, color: str) -> Row:
    """Return a bar of `width` columns, filled to `share` in halves of a column."""
    halves = round(min(1.0, max(0.0, share if math.isfinite(share) else 0.0)) * 2 * max(0, width))
    whole, rest = divmod(halves, 2)
    filled = SIGNS.full * whole + SIGNS.half * rest
    return (styled(filled, color), styled(SIGNS.track * (width - len(filled)), LINE))
