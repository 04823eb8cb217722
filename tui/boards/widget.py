"""The widget that draws boards: a grid of them, or a single large one."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from textual.events import Click, Resize
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.timer import Timer

from ...envs.fields import Array
from ..drawing.styles import ACCENT, LINE, SIGNS, SOFT, TEXT, Row, blank, fit, padded, style_of, styled
from ..drawing.widgets import LineWidget
from ..pictures.canvas import Canvas, PlacedPicture, Rect
from .layout import GAP, NONE, GridLayout, Notes, best_layout, cut_layout
from .pictures import MOST_PICTURES, PictureRenderer, pictured
from .scale import Renderer, Scale

NO_BOARDS = np.zeros((0, 1, 1), np.uint8)
TEXT_PERIOD, BELOW_PERIOD = 0.25, 1.0
"""Seconds between two changes of the borders of pictures, and of those below a dialog."""
HEAVY = ("┏", "┓", "┗", "┛", "━", "┃")


class BoardBorder(NamedTuple):
    """The border of a board.

    Attributes:
        title: Text at the top left.
        sign: Text at the top right. It shows the state, which the color alone must not do.
        color: Color of the border, which also shows the state.
        captions: Text at the bottom: the first of these that fits.
        mark: Color of sign and caption, if it differs.
        notes: Lines between the board and its caption.
        message: Text that is shown in place of the board.
    """

    title: str
    sign: str = ""
    color: str = LINE
    captions: tuple[str, ...] = ()
    selected: bool = False
    mark: str = ""
    notes: tuple[Row, ...] = ()
    message: str = ""


class BoardGrid(LineWidget):
    """Boards in a grid, at the largest scale at which all fit. Only lines that have changed are drawn again."""

    class Clicked(Message):
        """A board was clicked.

        Attributes:
            index: Its index on the page.
        """

        def __init__(self, index: int) -> None:
            super().__init__()
            self.index = index

    class LayoutChanged(Message):
        """The grid has another shape, so that another page may be shown."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._plain: Renderer | None = None
        self._renderer: Renderer | None = None
        self._fits: dict[tuple[int, int], GridLayout] = {}
        self._count, self._notes = 1, NONE
        self._grid_layout: GridLayout | None = None
        self._rows = NO_BOARDS
        self._borders: Sequence[BoardBorder] = ()
        self._edges: list[tuple[Row, Row, Row, Row]] = []
        self._newest: Sequence[BoardBorder] = ()
        self._next_text = 0.0
        self._late: Timer | None = None

    @property
    def grid_layout(self) -> GridLayout | None:
        """The layout, once there is a renderer and room."""
        return self._grid_layout

    @property
    def page(self) -> int:
        """Boards on one page, at least 1."""
        return max(1, self._grid_layout.page) if self._grid_layout else 1

    def use(self, renderer: Renderer, count: int, notes: Notes = NONE) -> None:
        """Set the renderer, the number of boards that should fit, and the notes below each if there is room."""
        if renderer is not self._plain or (count, notes) != (self._count, self._notes):
            many = (count > MOST_PICTURES) != (self._count > MOST_PICTURES)
            before, self._plain = self._plain, renderer
            self._count, self._notes = count, notes
            self._fits = {}
            if renderer is not before or many:
                self._choose_renderer()
            self._forget()
            self._refit()

    def change_pictures(self) -> None:
        """Draw as the terminal is now known to show pictures."""
        if self._plain is not None:
            self._choose_renderer()
            self._forget()
            self._refit()

    def _choose_renderer(self) -> None:
        assert self._plain is not None
        self._renderer = pictured(self._plain, self._canvas, self, self._count)
        self._fits = {}
        self._grid_layout = None  # its scale is one of the other renderer

    @property
    def _canvas(self) -> Canvas | None:
        """The pictures of the terminal; an app that is not shown in one has none."""
        return getattr(self.app, "canvas", None)

    def fit_within(self, width: int, height: int) -> GridLayout | None:
        """Return the layout for an area of this size."""
        if self._renderer is None or not (width and height):
            return None
        if (width, height) not in self._fits:
            found = best_layout(self._renderer.scales, self._count, width, height, self._notes)
            self._fits[width, height] = found if found.page else cut_layout(self._renderer.scales, height)
        return self._fits[width, height]

    def on_resize(self, event: Resize) -> None:
        """Choose the layout for the new size."""
        event.stop()
        self._refit()

    def _refit(self) -> None:
        found = self.fit_within(*self.size)
        if found is not None and found != self._grid_layout:
            self._grid_layout = found
            self._forget()
            self.refresh()
            self.post_message(self.LayoutChanged())

    def _forget(self) -> None:
        """Draw all lines when boards are shown next."""
        self._rows, self._borders, self._edges = NO_BOARDS, (), []

    def show(self, boards: Array, borders: Sequence[BoardBorder]) -> None:
        """Show a page of boards `(count, ...)`, each in its border."""
        if self._grid_layout is None:
            self._refit()
        if self._renderer is None or self._grid_layout is None:
            return
        count = min(len(boards), len(borders), self._grid_layout.page)
        if not count:
            return
        rows = self._renderer.prepare(boards[:count], self._grid_layout.scale)
        borders = self._borders_due(borders[:count])
        before, self._rows = self._rows, rows
        if rows.shape != before.shape or len(self._edges) != count:
            self._edges = [_edges(border, self._grid_layout.scale) for border in borders]
            self._borders = borders
            self.refresh()
            self._show_pictures(boards[:count])
            return
        reach = np.zeros(self._grid_layout.rows * self._grid_layout.tile[1], np.intp)
        self._compare_boards(before, rows, reach)
        self._compare_borders(borders, reach)
        self._redraw(reach)
        self._show_pictures(boards[:count])

    def show_pictures(self, boards: Array) -> None:
        """Show newer boards in the borders that are drawn, if they are pictures."""
        if isinstance(self._renderer, PictureRenderer) and len(boards) == len(self._edges):
            self._show_pictures(boards)

    def _borders_due(self, borders: Sequence[BoardBorder]) -> Sequence[BoardBorder]:
        """Return the borders to draw. Those of pictures change a few times a second: lines cost more than pictures.

        Under a dialog, they change less often still, since Textual draws the whole screen for each change there.
        """
        self._newest = borders
        if not isinstance(self._renderer, PictureRenderer) or len(borders) != len(self._borders):
            return borders
        same = all(
            (old.selected, old.notes, old.message) == (new.selected, new.notes, new.message)
            for old, new in zip(self._borders, borders, strict=True)
        )
        same = same or self.app.screen is not self.screen
        now = time.monotonic()
        if not same or now >= self._next_text:
            self._next_text = now + (TEXT_PERIOD if self.app.screen is self.screen else BELOW_PERIOD)
            return borders
        if self._late is None:
            self._late = self.set_timer(self._next_text - now, self._show_late)
        return self._borders

    def _show_late(self) -> None:
        """Draw the newest borders, if no later pictures came with them."""
        self._late = None
        if self._grid_layout is not None and len(self._newest) == len(self._borders) == len(self._edges):
            reach = np.zeros(self._grid_layout.rows * self._grid_layout.tile[1], np.intp)
            self._compare_borders(self._newest, reach)
            self._redraw(reach)

    def _show_pictures(self, boards: Array) -> None:
        """Show the boards as pictures, but for those that have a message in their place."""
        grid, canvas = self._grid_layout, self._canvas
        if grid is None or canvas is None:
            return
        found: dict[int, PlacedPicture] = {}
        if isinstance(self._renderer, PictureRenderer):
            left, top = self.region.offset
            for index, pixels in enumerate(self._renderer.images(boards)):
                if not self._borders[index].message:
                    x, y = grid.place(index)
                    place = Rect(left + x + 1, top + y + 1, grid.scale.columns, grid.scale.lines)
                    found[canvas.number(self, index)] = PlacedPicture(pixels, place)
        canvas.show(self, found)

    def _compare_boards(self, before: Array, after: Array, reach: NDArray[np.intp]) -> None:
        """Write into `reach`, for every line, up to which column the boards differ."""
        assert self._grid_layout is not None
        count, groups = after.shape[:2]
        differs = (before != after).reshape(count, groups, -1).any(axis=2)
        span, width = self._grid_layout.scale.span, self._grid_layout.scale.columns
        for index in np.flatnonzero(differs.any(axis=1)).tolist():
            x, y = self._grid_layout.place(index)
            lines = reach[y + 1 : y + 1 + groups * span]
            np.maximum(lines, np.where(differs[index].repeat(span), x + 1 + width, 0), out=lines)

    def _compare_borders(self, borders: Sequence[BoardBorder], reach: NDArray[np.intp]) -> None:
        """Make the borders that differ, and write into `reach` up to which column they reach."""
        assert self._grid_layout is not None
        wide, tall = self._grid_layout.tile
        for index, (old, new) in enumerate(zip(self._borders, borders, strict=True)):
            if old == new:
                continue
            self._edges[index] = _edges(new, self._grid_layout.scale)
            x, y = self._grid_layout.place(index)
            sides = (old.color, old.selected, old.notes, old.message) != (
                new.color,
                new.selected,
                new.notes,
                new.message,
            )
            text = (old.notes, old.message) != (new.notes, new.message)
            if sides and not text and isinstance(self._renderer, PictureRenderer):
                # The cells of a picture are many bytes, and drawing text there would remove sixels.
                self.refresh(Region(x, y + 1, 1, tall - 2), Region(x + wide - 1, y + 1, 1, tall - 2))
                sides = False
            lines = reach[y : y + tall] if sides else reach[y : y + tall : tall - 1]
            np.maximum(lines, x + wide, out=lines)
        self._borders = borders

    def _redraw(self, reach: NDArray[np.intp]) -> None:
        """Mark each line for drawing up to its column in `reach`."""
        regions = [Region(0, y, right, 1) for y, right in enumerate(reach.tolist()) if right]
        if regions:
            self.refresh(*regions)

    def render_line(self, y: int) -> Strip:
        """Return one line across all boards of a row of the grid."""
        grid = self._grid_layout
        if grid is None or not self._edges:
            return Strip.blank(self.size.width, style_of())
        _, tall = grid.tile
        row, line = divmod(y, tall)
        segments = [blank(grid.left)]
        for index in range(row * grid.columns, min(len(self._edges), (row + 1) * grid.columns)):
            segments.extend(self._piece(index, line, tall))
            segments.append(blank(GAP))
        width = self.size.width
        return Strip(padded(tuple(segments), width), width)

    def _piece(self, index: int, line: int, tall: int) -> Row:
        """One board's part of a line."""
        assert self._renderer is not None
        assert self._grid_layout is not None
        top, left, right, bottom = self._edges[index]
        if line == 0:
            return top
        if line == tall - 1:
            return bottom
        if line > self._grid_layout.scale.lines:
            notes, at = self._borders[index].notes, line - 1 - self._grid_layout.scale.lines
            note = notes[at] if at < len(notes) else ()
            return (*left, *padded(note, self._grid_layout.scale.columns), *right)
        if message := self._borders[index].message:
            middle = line == (self._grid_layout.scale.lines + 1) // 2
            text = fit(
                message.center(self._grid_layout.scale.columns) if middle else "", self._grid_layout.scale.columns
            )
            return (*left, styled(text, SOFT), *right)
        group, rest = divmod(line - 1, self._grid_layout.scale.span)
        return (*left, *self._renderer.line(self._rows[index, group], rest, self._grid_layout.scale), *right)

    def on_click(self, event: Click) -> None:
        """Post which board was clicked."""
        grid = self._grid_layout
        if grid is None:
            return
        wide, tall = grid.tile
        column, row = (event.x - grid.left) // (wide + GAP), event.y // tall
        index = row * grid.columns + column
        if 0 <= column < grid.columns and index < len(self._borders):
            self.post_message(self.Clicked(index))


def _edges(border: BoardBorder, scale: Scale) -> tuple[Row, Row, Row, Row]:
    """The top, both sides and the bottom of a border."""
    corners = HEAVY if border.selected else (*SIGNS.corners, "─", "│")
    left_top, right_top, left_bottom, right_bottom, flat, side = corners
    inner = scale.columns
    title = shortened(border.title, max(0, inner - len(border.sign)), gap=len(border.sign) > 0)
    color = ACCENT if border.selected else border.color
    airy = len(title) + len(border.sign) + 4 <= inner
    name, sign = (f" {title} ", f" {border.sign} " if border.sign else "") if airy else (title, border.sign)
    caption = next((caption for caption in border.captions if len(caption) <= inner), "")
    foot = f" {caption} " if caption and len(caption) + 2 <= inner else caption
    rule = inner - len(name) - len(sign)
    lead, tail = (flat, flat * (rule - 2)) if airy and rule >= 2 else ("", flat * rule)
    end = flat if airy and rule >= 2 else ""
    top = (
        styled(left_top + lead, color, bold=border.selected),
        styled(name, ACCENT if border.selected else SOFT, bold=True),
        styled(tail, color, bold=border.selected),
        styled(sign, border.mark or border.color, bold=True),
        styled(end + right_top, color, bold=border.selected),
    )
    spare = inner - len(foot)
    bottom = (
        styled(left_bottom + flat * (spare // 2), color, bold=border.selected),
        styled(foot, border.mark or TEXT),
        styled(flat * (spare - spare // 2) + right_bottom, color, bold=border.selected),
    )
    edge = (styled(side, color, bold=border.selected),)
    return top, edge, edge, bottom


def shortened(title: str, width: int, *, gap: bool = False) -> str:
    """Return a title in at most `width` columns: `Env 10/65,535`, where that is too long `10/65,535`, else `10`.

    With a `gap`, the first two are a column shorter than that.
    """
    counted = title.rpartition(" ")[2]
    shown = next((text for text in (title, counted) if len(text) + gap <= width), counted.partition("/")[0])
    return fit(shown, min(len(shown), width))
