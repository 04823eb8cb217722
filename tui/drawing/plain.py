"""Containers that draw nothing. Textual otherwise draws a container's empty lines whenever a child's lines change."""

from __future__ import annotations

from textual.containers import Container, Vertical
from textual.screen import Screen
from textual.widgets import ContentSwitcher


class PlainContainer(Container):
    """A container without a background."""

    BLANK = True


class PlainVertical(Vertical):
    """A column without a background."""

    BLANK = True


class PlainSwitcher(ContentSwitcher):
    """A switcher without a background."""

    BLANK = True


class PlainScreen(Screen[None]):
    """A screen without a background."""

    BLANK = True
