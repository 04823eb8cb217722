"""Screens, and containers that draw nothing.

Textual otherwise draws a container's empty lines whenever a child's lines change.
"""

from __future__ import annotations

from typing import TypeVar

from textual._styles_cache import StylesCache
from textual.containers import Container, Vertical
from textual.events import Resize
from textual.screen import ModalScreen, Screen
from textual.widgets import ContentSwitcher

from ..keys import table


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


class Modal(SteadyScreen[Result], ModalScreen[Result]):
    """A screen over another one. The key that saves a picture works there, too, unless it has another meaning."""

    def __init__(self) -> None:
        super().__init__()
        for key in table()["screenshot"].keys.split(","):
            if key not in self._bindings.key_to_bindings:
                self._bindings.bind(key, "app.run_command('screenshot')", show=False)

    def on_unmount(self) -> None:
        """Free what was drawn. Textual caches a method by its object, which keeps the lines of 1,024 widgets."""
        StylesCache.get_inner_outer.cache_clear()


class PlainScreen(SteadyScreen[None]):
    """A screen without a background."""

    BLANK = True
