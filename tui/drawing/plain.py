"""Containers that draw nothing: Textual otherwise draws a container's empty lines again whenever a child's change."""

from __future__ import annotations

from textual.containers import Container, Vertical
from textual.screen import Screen
from textual.widgets import ContentSwitcher


class PlainContainer(Container):
    """A container without looks of its own."""

    BLANK = True


class PlainVertical(Vertical):
    """A column without looks of its own."""

    BLANK = True


class PlainSwitcher(ContentSwitcher):
    """A switcher without looks of its own."""

    BLANK = True


class PlainScreen(Screen[None]):
    """A screen without looks of its own."""

    BLANK = True
