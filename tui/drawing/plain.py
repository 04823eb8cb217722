"""Screens, and containers that draw nothing.

Textual otherwise draws a container's empty lines whenever a child's lines change.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from rich.console import RenderableType
from rich.segment import Segment
from textual._styles_cache import StylesCache
from textual.color import Color
from textual.containers import Container, Vertical
from textual.events import Resize
from textual.filter import ANSIToTruecolor, LineFilter
from textual.renderables.background_screen import BackgroundScreen
from textual.screen import ModalScreen, Screen
from textual.widgets import ContentSwitcher

from ..keys import table
from ..pictures.kitty import PLACEHOLDER


class PlainContainer(Container):
    """A container without a background."""

    BLANK = True


class PlainVertical(Vertical):
    """A column without a background."""

    BLANK = True


class PlainSwitcher(ContentSwitcher):
    """A switcher without a background."""

    BLANK = True


Result = TypeVar("Result")


class SteadyScreen(Screen[Result]):
    """A screen that takes only the size which the terminal has now.

    Textual's own screen sends each size that it takes to itself again. Two of them would replace each other for ever if
    the app ends meanwhile, and nothing else would run.
    """

    async def _on_resize(self, event: Resize) -> None:
        """Leave out a size that is no longer true."""
        if event.size != self.app.size:
            event.prevent_default()


class PicturesBelow(BackgroundScreen):
    """The screen below a dialog, with the numbers of its pictures."""

    @classmethod
    def process_segments(cls, segments: Iterable[Segment], color: Color) -> Iterable[Segment]:
        """Yield dimmed segments, and placeholders of pictures as they are."""
        for segment in segments:
            if segment.text.startswith(PLACEHOLDER):
                yield segment
            else:
                yield from super().process_segments((segment,), color)


class Modal(SteadyScreen[Result], ModalScreen[Result]):
    """A screen over another one. The key that saves a picture works there, too, unless it has another meaning."""

    def __init__(self) -> None:
        super().__init__()
        for key in table()["screenshot"].keys.split(","):
            if key not in self._bindings.key_to_bindings:
                self._bindings.bind(key, "app.run_command('screenshot')", show=False)

    def render(self) -> RenderableType:
        """Return the screen below, dimmed; its pictures stay as they are, since their colors are their numbers."""
        below: RenderableType = super().render()
        return PicturesBelow(below.screen, below.color) if isinstance(below, BackgroundScreen) else below

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Return all filters except the one for ANSI colors, which are numbers of pictures on the screen below."""
        return [item for item in super().get_line_filters() if not isinstance(item, ANSIToTruecolor)]

    def on_unmount(self) -> None:
        """Free what was drawn. Textual caches a method by its object, which keeps the lines of 1,024 widgets."""
        StylesCache.get_inner_outer.cache_clear()


class PlainScreen(SteadyScreen[None]):
    """A screen without a background."""

    BLANK = True
