"""Rich's console for untrusted text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from ...envs.printable import LINES, printable


class PrintableConsole(Console):
    """A console that interprets neither markup nor emoji names, and escapes characters that are not printable.

    Args:
        **options: As for Rich's console.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **options)

    def render_str(self, text: str, **options: Any) -> Text:
        """Return a text that is as wide as what will be written."""
        return super().render_str(printable(text, LINES), **{**options, "markup": False, "emoji": False})

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yield the segments of anything that Rich can draw."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=printable(segment.text, "\n"))
