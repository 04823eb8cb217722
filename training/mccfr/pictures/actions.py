"""The letter and the color of each action of a game."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle

from ....envs import Task
from ....envs.panels import Glyph

FOLD, CALL, ALL_IN, LIAR = "fold", "check or call", "all-in", "liar"
FIXED = {FOLD: ("f", "#3f6fb5"), CALL: ("c", "#4f9d69"), ALL_IN: ("A", "#8c1d40"), LIAR: ("L", "#b03a48")}
RAISES, RAISE_LETTERS = ("#f0b27a", "#c0392b"), "rstuvwxyz"
BIDS, BID_LETTERS = ("#2f4b7c", "#e3c567"), "123456abcdef"
DARK, LIGHT = "#10141b", "#f4f6f8"
BRIGHT = 1200
"""Letters are dark on backgrounds of at least this brightness."""


def glyphs_of(task: Task) -> tuple[Glyph, ...]:
    """Return the glyph of every action of a game, by its number."""
    others = [name for name in task.action_names if name not in FIXED]
    bids = LIAR in task.action_names
    colors = ramp(*(BIDS if bids else RAISES), len(others))
    letters = BID_LETTERS if bids else RAISE_LETTERS
    own = dict(zip(others, zip(cycle(letters), colors, strict=False), strict=True))
    return tuple(_glyph(name, *{**own, **FIXED}[name]) for name in task.action_names)


def ramp(first: str, last: str, count: int) -> list[str]:
    """Return `count` colors from one `#rrggbb` to another."""
    pairs = list(zip(bytes.fromhex(first[1:]), bytes.fromhex(last[1:]), strict=True))
    shares = [at / max(1, count - 1) for at in range(count)]
    return ["#" + bytes(round((1 - share) * one + share * other) for one, other in pairs).hex() for share in shares]


def _glyph(name: str, letter: str, ground: str) -> Glyph:
    red, green, blue = bytes.fromhex(ground[1:])
    dark = 3 * red + 6 * green + blue >= BRIGHT
    return Glyph(f"{letter} ", letter, DARK if dark else LIGHT, ground, name)


def history(names: Sequence[str]) -> str:
    """Return actions in short: `kbr` for check, bet, raise; bids in full; a dot if there are none."""
    if any("x" in name for name in names):
        return " ".join(names)
    return "".join("k" if name == "check" else name[0] for name in names) or "·"
