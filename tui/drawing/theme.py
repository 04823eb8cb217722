"""The palette as a theme of Textual, and the filters of everything on the screen."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Sequence
from functools import cache
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.segment import Segment
from textual.app import App
from textual.color import Color
from textual.constants import COLOR_SYSTEM
from textual.filter import LineFilter, Monochrome
from textual.theme import Theme

from ...training.doctor import in_tmux, tmux_passes_on
from ..pictures.kitty import is_placeholder
from ..preferences import preferences
from .nearest import LegibleFilter, NearestFilter
from .palettes import PALETTES
from .styles import TerminalColors, palette_of, restyle

NO_COLOR = "NO_COLOR" in os.environ
"""Whether the user's environment turns colors off."""
SPELLED = {
    **dict.fromkeys("─━╌╸╺▬", "-"),
    **dict.fromkeys("│┃┊▏▎▍▌▐▕", "|"),
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
            if segment.control or segment.text.isprintable() or is_placeholder(segment.text)
            else segment._replace(text=_only_printable(segment.text))
            for segment in segments
        ]


def _only_printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else "?" * cell_len(letter) for letter in text)


def colors_distinguish(app: App[Any]) -> bool:
    """Return whether colors alone distinguish pieces: not with `NO_COLOR`, sixteen colors, or color blindness."""
    few = TerminalColors.sixteen or os.environ.get("TERM") == "linux"
    return not (app.no_color or few or preferences().theme == "colorblind")


def match_terminal() -> None:
    """Use the colors that the terminal of this process has from now on: palettes of sixteen, 256, or all."""
    wanted: Any = COLOR_SYSTEM
    found = Console(color_system=wanted, force_terminal=True).color_system
    TerminalColors.passed_on = (
        wanted == "auto" and found != "truecolor" and in_tmux(os.environ) and tmux_passes_on(os.environ)
    )
    few = not TerminalColors.passed_on
    TerminalColors.sixteen = few and found in {"standard", "windows"}
    TerminalColors.nearest = few and found == "256"
    restyle()


def theme_of(name: str) -> Theme:
    """Return a palette as a theme of Textual."""
    palette = palette_of(name)
    return Theme(
        name=f"pac-{name}",
        primary=palette.accent,
        secondary=palette.cyan,
        accent=palette.accent,
        warning=palette.yellow,
        error=palette.red,
        success=palette.green,
        foreground=palette.text,
        background=palette.ground,
        surface=palette.ground,
        panel=palette.raised,
        boost=palette.line,
        dark=palette.dark,
    )


class FilteredApp(App[int]):
    """An app with filters of its own, which everything on its screen passes after those of Textual.

    Attributes:
        own_filters: These filters. They decide whether there are colors, in place of Textual.
    """

    own_filters: Sequence[LineFilter] = ()

    def get_theme(self, theme_name: str) -> Theme | None:
        """Return a theme by its name. Textual looks for it at each line, and lists all themes to find it."""
        return self._registered_themes.get(theme_name) or super().get_theme(theme_name)

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Return the filters of Textual but the one without colors, and the app's own."""
        return [*(each for each in super().get_line_filters() if not isinstance(each, Monochrome)), *self.own_filters]


def apply_theme(app: FilteredApp) -> None:
    """Apply the preferred theme, colors and characters to an app in its constructor.

    If the theme were set later, Textual would parse and apply all styles a second time.
    """
    if TerminalColors.passed_on:
        app.console = Console(
            color_system="truecolor",
            file=app.console.file,
            highlight=False,
            emoji=False,
            force_terminal=True,
            legacy_windows=False,
            safe_box=False,
        )
    for name in PALETTES:
        app.register_theme(theme_of(name))
    theme = theme_of(preferences().theme)
    app.set_reactive(App.theme, theme.name)
    app.set_class(theme.dark, "-dark-mode", update=False)
    app.set_class(not theme.dark, "-light-mode", update=False)
    app.stylesheet.set_variables(app.get_css_variables())
    _set_filters(app)


def change_theme(app: FilteredApp) -> None:
    """Apply the preferred theme, colors and characters to an app that runs. What it draws must be drawn again."""
    restyle()
    _set_filters(app)
    app.theme = theme_of(preferences().theme).name
    app.refresh_css(animate=False)


def _set_filters(app: FilteredApp) -> None:
    """Let everything on the screen pass the filters of the preferences."""
    app.no_color = NO_COLOR or not preferences().color
    app.own_filters = (
        *([Monochrome()] if app.no_color else []),
        *([NearestFilter()] if TerminalColors.nearest else []),
        *([LegibleFilter()] if TerminalColors.sixteen else []),
        PrintableFilter(),
        *([AsciiFilter()] if preferences().characters == "ascii" else []),
    )
