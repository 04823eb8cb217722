"""What the terminal shows, so that only segments of lines that differ are written.

Textual writes whole lines of a widget, and below a dialog the whole screen. Written over sixels, this would remove
them; and the placeholders of kitty's pictures are so many bytes that keys would wait for them on a slow connection.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import Console
from rich.control import Control
from rich.segment import Segment
from textual._compositor import ChopsUpdate, CompositorUpdate, LayoutUpdate
from textual.geometry import Region
from textual.strip import Strip


class Written:
    """The segments of each line that the terminal shows, by their first column, with the column behind them."""

    def __init__(self) -> None:
        self._lines: dict[int, dict[int, tuple[Segment, int]]] = {}

    def forget(self) -> None:
        """Write everything again."""
        self._lines = {}

    def changed(self, y: int, x: int, strips: Iterable[Strip]) -> Iterator[tuple[int, Strip]]:
        """Note that a line shows these strips from a column on; yield what must be written, and where."""
        before, new = self._lines.get(y, {}), dict[int, tuple[Segment, int]]()
        left, begin = x, x
        run: list[Segment] = []
        for segment in (segment for strip in strips for segment in strip):
            end = x + (len(segment.text) if segment.text.isascii() else segment.cell_length)
            new[x] = shown = segment, end
            if before.get(x) == shown:
                if run:
                    yield begin, Strip(run)
                run = []
            else:
                begin = begin if run else x
                run.append(segment)
            x = end
        if run:
            yield begin, Strip(run)
        if before.keys() == new.keys():
            self._lines[y] = new
        else:
            self._lines[y] = {at: old for at, old in before.items() if old[1] <= left or at >= x} | new


class ChangesUpdate(CompositorUpdate):
    """An update of the screen that writes only what differs.

    Attributes:
        places: Where it has written.
    """

    def __init__(self, written: Written, update: ChopsUpdate | LayoutUpdate) -> None:
        self._written, self._update = written, update
        self.places: list[Region] = []

    def render_segments(self, console: Console) -> str:
        """Return the text that is written, with its escape sequences."""
        texts: list[str] = []
        for y, x, strips in self._pieces():
            for at, strip in self._written.changed(y, x, strips):
                self.places.append(Region(at, y, strip.cell_length, 1))
                texts += Control.move_to(at, y).segment.text, strip.render(console)
        return "".join(texts)

    def _pieces(self) -> Iterator[tuple[int, int, Iterable[Strip]]]:
        update = self._update
        if isinstance(update, LayoutUpdate):
            for y, strips in enumerate(update.strips, update.region.y):
                yield y, update.region.x, strips
            return
        for y, first, last in update.spans:
            for end, (x, strip) in zip(update.chop_ends[y], update.chops[y].items(), strict=False):
                left, right = max(x, first), min(end, last)
                if strip is not None and left < right:
                    yield y, left, (strip.crop(left - x, right - x),)
