"""The palette as a theme of Textual, and the filters of everything on the screen."""

from __future__ import annotations

import os
import unicodedata
from functools import cache
from typing import Any

from rich.cells import cell_len
from rich.segment import Segment
from textual.app import App
from textual.color import Color
from textual.filter import LineFilter
from textual.theme import Theme

from ..preferences import preferences
from .styles import ACCENT, CYAN, GREEN, GROUND, LINE, PALETTE, RAISED, RED, TEXT, YELLOW

THEME = Theme(
    name="pac",
    primary=ACCENT,
    secondary=CYAN,
    accent=ACCENT,
    warning=YELLOW,
    error=RED,
    success=GREEN,
    foreground=TEXT,
    background=GROUND,
    surface=GROUND,
    panel=RAISED,
    boost=LINE,
    dark=PALETTE.dark,
)
SPELLED = {
    **dict.fromkeys("─━╌╸╺▬", "-"),
    **dict.fromkeys("│┃▏▎▍▌▐▕", "|"),
    **dict.fromkeys("╭╮╰╯┌┐└┘├┤┬┴┼┏┓┗┛", "+"),
    **dict.fromkeys("█▉▊▋■▀▄▇▆▅▟▙▛▜", "#"),
    **dict.fromkeys("▁▂▃▖▗▘▝▚▞░·•∙", "."),
    **dict.fromkeys("▒▓", "%"),
    **dict.fromkeys("●★◆", "*"),
    **dict.fromkeys("○◯☆◇", "o"),
    **dict.fromkeys("«◀◂←", "<"),
    **dict.fromkeys("»▶▸▹→", ">"),
    **dict.fromkeys("▲↑", "^"),
    **dict.fromkeys("▼↓", "v"),
    **dict.fromkeys("✗×", "x"),  # noqa: RUF001 - the sign of multiplication
    **dict(zip("♠♥♦♣⚀⚁⚂⚃⚄⚅", "shdc123456", strict=True)),
    "✓": "+",
    "…": "~",
    "‖": "=",
}
"""ASCII in place of other characters. Characters that are not here lose their accents or become `?`."""


@cache
def in_ascii(text: str) -> str:
    """Return `text` in ASCII, as many columns wide."""
    return text if text.isascii() else "".join(map(_spelled, text))


def _spelled(letter: str) -> str:
    if "\u2800" <= letter <= "\u28ff":
        return " " if letter == "\u2800" else "."
    plain = SPELLED.get(letter) or unicodedata.normalize("NFKD", letter).encode("ascii", "ignore").decode()
    return (plain or "?" * cell_len(letter)).ljust(cell_len(letter))[: cell_len(letter)]


class AsciiFilter(LineFilter):
    """Writes everything in ASCII."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:  # noqa: ARG002 - Textual's
        """Return the segments of a line in ASCII."""
        return [Segment(in_ascii(text), style, control) for text, style, control in segments]


class PrintableFilter(LineFilter):
    """Passes only printable characters, whatever widget draws them. It is the last filter before the terminal."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:  # noqa: ARG002 - Textual's
        """Return the segments of a line, with question marks in place of other characters."""
        return [
            segment
            if segment.control or segment.text.isprintable()
            else segment._replace(text=_only_printable(segment.text))
            for segment in segments
        ]


def _only_printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else "?" * cell_len(letter) for letter in text)


def colors_distinguish(app: App[Any]) -> bool:
    """Return whether colors alone distinguish pieces: not with `NO_COLOR`, sixteen colors, or color blindness."""
    return not app.no_color and os.environ.get("TERM") != "linux" and preferences().theme != "colorblind"


def apply_color_preference() -> None:
    """Set `NO_COLOR` if the preferences say so. Textual reads it when an app is made."""
    if not preferences().color:
        os.environ["NO_COLOR"] = "1"


def apply_theme(app: App[Any]) -> None:
    """Apply the palette to an app in its constructor, and the ASCII filter if the preferences say so.

    If the theme were set later, Textual would parse and apply all styles a second time.
    """
    app.register_theme(THEME)
    app.set_reactive(App.theme, THEME.name)
    app.set_class(THEME.dark, "-dark-mode", update=False)
    app.set_class(not THEME.dark, "-light-mode", update=False)
    app.stylesheet.set_variables(app.get_css_variables())
    filters = [PrintableFilter(), *([AsciiFilter()] if preferences().characters == "ascii" else [])]
    app._filters += filters  # noqa: SLF001 - Textual has no public way to add one
