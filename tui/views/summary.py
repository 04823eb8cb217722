"""All environments: their boards, throughput, scaling, episodes and learning."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from textual.app import ComposeResult
from textual.message import Message

from ...envs.fields import Array
from ...training.telemetry.description import Description, ShapedPanel
from ...training.telemetry.snapshot import Snapshot, ViewRequest
from ..boards import BoardBorder, BoardGrid, GridLayout, Notes, Renderer, ThresholdRenderer, renderer_for
from ..drawing.numbers import readable, short, spoken
from ..drawing.panels import BORDER, Section, bordered, column, columns, shares, taken
from ..drawing.plain import PlainVertical
from ..drawing.styles import FAINT, SOFT, TEXT, Row, styled
from ..drawing.widgets import TextLines
from ..messages import EnvironmentOpened
from . import goal, number_rows
from .base import BaseView, ViewUpdate
from .borders import borders_of, with_messages
from .curves import Curves, main_curves
from .diagnosis import summary_section
from .inspect import inspected
from .panels import stacked, with_sight
from .status_message import StatusMessage

LEAST_CHARTS = 8
LOWEST_CHART, SLIMMEST_CHART = 12, 36
"""Lines and columns of a chart among several."""
SLIMMEST_CHARTS = 60
BOTH_CHARTS = 110
MOST_ACROSS = 5
TALLEST_CHART = 16
"""Lines of a chart in the right column, from twice of which on there are two."""
TALL, HIGH = 30, 46
CURVE_LINES, HIGH_CURVE_LINES = 6, 9
LOW_GOAL, GOAL, HIGH_GOAL = 5, 11, 15
FINDING_LINES = 3
VALUE = 6  # columns that a number takes in short, `123.4k`


class SummaryView(BaseView):
    """The grid of boards beside throughput, scaling, episodes and the learning curve."""

    class PageTurned(Message):
        """Another page of boards was selected."""

    def __init__(self, *, colors: bool) -> None:
        super().__init__(id="summary")
        self.grid = BoardGrid(id="grid")
        self._colors = colors
        self._panel: ShapedPanel | None = None
        self._renderer: Renderer | None = None
        self._count = 0
        self._first = 0
        self._waiting, self._charts, self._side = StatusMessage(), TextLines(id="charts"), TextLines(id="side")
        self._inspector, self._curves = TextLines(id="inspector"), Curves()
        self._left = PlainVertical(self._waiting, self.grid, self._charts, id="left")

    def compose(self) -> ComposeResult:
        """Boards and charts on the left, panels on the right."""
        yield self._left
        yield self._side
        yield self._inspector

    def restyle(self, *, colors: bool) -> None:
        """Forget the drawn boards and curves."""
        self._colors, self._renderer, self._curves = colors, None, Curves()

    def request(self, env: int) -> ViewRequest:  # noqa: ARG002 - the grid shows all environments of its page
        """Request the boards of this page and the learning curve."""
        return ViewRequest(self._first, self.grid.page, curves=self.curves)

    def show(self, update: ViewUpdate) -> None:
        """Draw the boards, and the panels that are due."""
        self.curves = main_curves(update.snapshot, update.curves)
        self._prepare(update.snapshot)
        quiet = self._waiting.take(update)
        self.grid.display = not quiet
        self._arrange(quiet=quiet)
        if not quiet and update.snapshot.first == self._first:
            boards = self._boards_of(update.snapshot)
            borders = borders_of(update.snapshot, self._first, len(boards), update.now, update.env)
            borders = with_messages(borders, boards, update.snapshot)
            self.grid.show(boards, self._headline.added(borders, update.snapshot, self.grid.grid_layout))
        self._inspector.display = update.inspecting and not quiet
        if update.inspecting and update.details:
            self._inspector.show(self._inspected(update))
        if update.numbers:
            self._side.show(column(self._sections(update), *self._side.size))
            if self._charts.display:
                self._show_charts(update)

    def _inspected(self, update: ViewUpdate) -> list[Row]:
        """Everything known of the selected environment, in a border over the side that its board is not on."""
        grid = self.grid.grid_layout
        if grid is not None:
            beside_it = (
                2 * grid.place(max(0, update.env - self._first))[0] >= self.size.width - self._inspector.size.width
            )
            self._inspector.styles.dock = "left" if beside_it else "right"
        width, height = self._inspector.size
        rows, _ = inspected(update.snapshot, width - BORDER, height - 2)
        return bordered(update.snapshot.description.env_title(update.env), rows, width, height, "i closes")

    def _prepare(self, snapshot: Snapshot) -> None:
        board = snapshot.description.board
        if self._renderer is None or board != self._panel:
            self._renderer = renderer_for(board, colors=self._colors)
            self._headline = Headline(snapshot.description)
        self._panel = board
        if snapshot.num_envs != self._count:
            self._count, self._first = snapshot.num_envs, 0
        self.grid.use(self._renderer, self._count, self._headline.notes)

    def _boards_of(self, snapshot: Snapshot) -> Array:
        if self._panel is None:
            return np.zeros((max(0, snapshot.num_envs - snapshot.first), 1), np.uint8)
        if self._panel.field not in snapshot.boards:
            return np.zeros((0, *self._panel.shape), np.uint8)
        return with_sight(self._panel, stacked(self._panel, snapshot.boards), snapshot.seat)

    def _sections(self, update: ViewUpdate) -> list[Section]:
        """The panels of the right column, the most important ones first."""
        snapshot, height = update.snapshot, self._side.size.height
        high = height >= HIGH
        tall = height >= TALL
        sections = [Section("Throughput", lambda width, _: number_rows.throughput(snapshot, width, scaled=not tall))]
        if tall and number_rows.shows_scaling(snapshot):
            curve = HIGH_CURVE_LINES if high else CURVE_LINES
            sections.append(Section("Scaling", lambda width, _: number_rows.scaling(snapshot, width, curve)))
        found = summary_section(snapshot, FINDING_LINES if tall else 1, notes=tall)
        wrong = [] if found is None else [found]
        if snapshot.description.units.episodes:
            sections.append(Section("Episodes", lambda width, _: number_rows.episodes(snapshot, width)))
        if tall:
            sections.append(Section("Trainer", lambda width, _: number_rows.learning(snapshot, width)))
            more = self.curves[1 + self._capacity :]
            lines, room = HIGH_GOAL if high else GOAL, height - taken([*wrong, *sections], *self._side.size) - 2
            if more and room >= lines + LEAST_CHARTS + 2:
                count = max(1, (room - lines) // TALLEST_CHART)
                sections += [self._curves.section(update, name) for name in more[:count]]
            else:
                lines = max(lines, room)
            return [goal.section(update, self._curves, lines), *wrong, *sections]
        room = height - taken([*wrong, *sections], *self._side.size) - 2
        return [goal.section(update, self._curves, max(LOW_GOAL, room)), *wrong, *sections]

    @property
    def _across(self) -> int:
        """Charts side by side below the first one."""
        return min(MOST_ACROSS, self._charts.size.width // SLIMMEST_CHART)

    @property
    def _capacity(self) -> int:
        """How many charts there are below the boards: a broad one, and if there is room rows of others."""
        width, height = self._charts.size
        if not self._charts.display:
            return 0
        lines = height // LOWEST_CHART if width >= BOTH_CHARTS else 1
        return 1 + self._across * (lines - 1 if lines < 3 else lines - 2)  # the first one is then twice as high

    def _show_charts(self, update: ViewUpdate) -> None:
        """Draw curves below the boards; if there is room, also the time of a step."""
        width, height = self._charts.size
        names = self.curves[1:] if self._side.display else self.curves
        times = Section(
            f"Time of a {update.snapshot.description.units.step}",
            lambda *room: number_rows.time_table(update.snapshot, *room),
            fills=True,
        )
        shown = [self._curves.section(update, name) for name in names[: self._capacity]]
        first, *others = shown or [times]
        if width < BOTH_CHARTS or first is times:
            self._charts.show(column([first], width, height))
            return
        below = [others[start : start + self._across] for start in range(0, len(others), self._across)]
        broad = 1 + (len(below) > 1)
        heights = shares(height, broad + len(below))
        rows = columns([[first], [times]], [width - width // 3, width // 3], sum(heights[:broad]))
        for line, tall in zip(below, heights[broad:], strict=True):
            rows += columns([[other] for other in line], shares(width, len(line)), tall)
        self._charts.show(rows)

    def _arrange(self, *, quiet: bool) -> None:
        """Give the boards the lines that they need, and the charts the rest."""
        width, height = self._left.size
        grid = self.grid.fit_within(width, height)
        used = grid.rows * grid.tile[1] if grid else height
        roomy = not quiet and grid is not None and height - used >= LEAST_CHARTS and width >= SLIMMEST_CHARTS
        if self._charts.display != roomy:
            self._charts.display = roomy
        wanted = used if roomy else height
        if self.grid.styles.height is None or self.grid.styles.height.value != wanted:
            self.grid.styles.height = wanted

    def on_board_grid_layout_changed(self, event: BoardGrid.LayoutChanged) -> None:
        """Start the page at a multiple of its size, and request its boards."""
        event.stop()
        self._first = self._first // self.grid.page * self.grid.page
        self.post_message(self.PageTurned())

    def on_board_grid_clicked(self, event: BoardGrid.Clicked) -> None:
        """Open the board that was clicked."""
        event.stop()
        self.post_message(EnvironmentOpened(self._first + event.index))

    def turn_page(self, by: int) -> None:
        """Show another page of boards."""
        page = self.grid.page
        last = max(0, self._count - 1) // page * page
        self._go(min(last, max(0, self._first + by * page)))

    def neighbor(self, env: int, columns: int, rows: int) -> int:
        """Return the environment that is so many columns and rows away from `env`, and turn to its page."""
        across = self.grid.grid_layout.columns if self.grid.grid_layout else 1
        found = min(max(0, self._count - 1), max(0, env + columns + rows * across))
        self._go(found // self.grid.page * self.grid.page)
        return found

    def _go(self, first: int) -> None:
        if first != self._first:
            self._first = first
            self.post_message(self.PageTurned())

    @property
    def pages(self) -> tuple[int, int]:
        if self.grid.grid_layout is None or not self.grid.display:
            return 1, 1
        page = self.grid.page
        return self._first // page + 1, max(1, -(-self._count // page))


class Headline:
    """One line of scalars, and a line for each panel of bars with thresholds, the highest bars first.

    Attributes:
        notes: The number of lines, and the columns that the first one needs.
    """

    def __init__(self, description: Description) -> None:
        wanted = description.headline
        self._scalars = [(spoken(name), description.info.index(name)) for name in wanted if name in description.info]
        bars = [panel for panel in description.panels if panel.field in wanted and panel.steps]
        self._bars = [(panel.field, ThresholdRenderer(panel)) for panel in bars]
        least = len(self._scalars[0][0]) + 1 + VALUE if self._scalars else 0
        self.notes = Notes(bool(self._scalars) + len(self._bars), least)

    def added(
        self, borders: Sequence[BoardBorder], snapshot: Snapshot, grid: GridLayout | None
    ) -> Sequence[BoardBorder]:
        """Return the borders with as many of these lines as the grid has room for."""
        if grid is None or not grid.notes:
            return borders
        width, first = grid.scale.columns, snapshot.first
        return [
            border._replace(notes=self._rows(snapshot, first, index, width)[: grid.notes])
            for index, border in enumerate(borders)
        ]

    def _rows(self, snapshot: Snapshot, first: int, index: int, width: int) -> tuple[Row, ...]:
        scalars = self._scalar_row(snapshot.info[first + index].tolist(), width)
        return (
            *((scalars,) if self._scalars else ()),
            *(bars.strongest(snapshot.boards[field][index], width) for field, bars in self._bars),
        )

    def _scalar_row(self, values: Sequence[float], width: int) -> Row:
        """Names and values, as many as fit."""
        row: list[Row] = []
        used = 0
        for name, index in self._scalars:
            text = readable(values[index])
            if not row and len(name) + 1 + len(text) > width:
                text = short(values[index])
            used += len(name) + len(text) + 2
            if used > width + 1:
                break
            row.append((styled(f"{name} ", FAINT if row else SOFT), styled(f"{text} ", TEXT)))
        return tuple(segment for pair in row for segment in pair)
