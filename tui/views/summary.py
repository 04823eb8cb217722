"""All environments at once: their boards, and how the whole of them does."""

from __future__ import annotations

import numpy as np
from textual.app import ComposeResult
from textual.containers import Container, Horizontal, Vertical
from textual.message import Message

from ...training.snapshot import Look, PanelLook, Phase
from ..boards import Boards, Drawing, drawing_of
from ..chart import chart, sparkline
from ..ink import FAINT, Row, part
from ..lines import Panel
from ..messages import EnvironmentOpened
from ..numbers import figure
from . import figures
from .base import Shot, View
from .wait import Waiting

CURVE = "return_mean"
LEAST_CHARTS = 9
QUIET = {Phase.STARTING, Phase.RESTARTING, Phase.STOPPING, Phase.FAILED}


class SummaryView(View):
    """The grid of boards beside throughput, scaling, episodes and the learning curve."""

    class PageTurned(Message):
        """Another page of boards is shown."""

    def __init__(self, *, colors: bool) -> None:
        super().__init__(id="summary")
        self._colors = colors
        self._panel: PanelLook | None = None
        self._drawing: Drawing | None = None
        self._count = 0
        self._first = 0

    def compose(self) -> ComposeResult:
        """Boards and charts on the left, panels on the right."""
        with Vertical(id="stage"):
            yield Waiting(id="waiting")
            yield Boards(id="grid")
            with Horizontal(id="charts"):
                yield Panel("Return, mean of 100 episodes", id="wide-curve")
                yield Panel("Time of a step", id="time")
        with Container(id="side"):
            yield Panel("Throughput", id="throughput")
            yield Panel("Scaling", id="scaling")
            yield Panel("Speedup over N", id="speedup")
            yield Panel("Episodes", id="episodes")
            yield Panel("Return", id="curve")
            yield Panel("Trainer", id="trainer")

    @property
    def grid(self) -> Boards:
        """The boards."""
        return self.query_one("#grid", Boards)

    def look(self, env: int) -> Look:  # noqa: ARG002 - the grid looks at all of its page
        """The boards of this page and the learning curve."""
        return Look(self._first, self.grid.page, curves=(CURVE,))

    def show(self, shot: Shot) -> None:
        """Draw the boards, and what else is due."""
        snapshot = shot.snapshot
        self._prepare(shot)
        quiet = self.query_one("#waiting", Waiting).take(shot)
        self.grid.display = not quiet
        if not quiet:
            self._show_boards(shot)
        if shot.figures:
            self._show_panels(shot)
        self.query_one("#charts").set_class(quiet or snapshot.phase in QUIET, "-quiet")

    def _prepare(self, shot: Shot) -> None:
        """Take over another task or N."""
        board = shot.snapshot.description.board
        if board is not self._panel or self._drawing is None:
            if board != self._panel or self._drawing is None:
                self._drawing = drawing_of(board, colors=self._colors)
            self._panel = board
        count = shot.snapshot.num_envs
        if count != self._count:
            self._count = count
            self._first = 0
        self.grid.use(self._drawing, count)
        self._arrange()

    def _show_boards(self, shot: Shot) -> None:
        snapshot, board = shot.snapshot, self._panel
        if board is None:
            boards = np.zeros((max(0, snapshot.num_envs - snapshot.first), 1), np.uint8)
        else:
            boards = snapshot.boards.get(board.field, np.zeros((0, *board.shape), np.uint8))
        if snapshot.first != self._first:
            return
        frames = figures.frames_of(snapshot, self._first, len(boards), shot.now, shot.env)
        self.grid.show(boards, frames)

    def _show_panels(self, shot: Shot) -> None:
        snapshot = shot.snapshot
        makers = {
            "throughput": figures.throughput,
            "scaling": figures.scaling,
            "episodes": figures.episodes,
            "trainer": figures.learning,
        }
        for name, maker in makers.items():
            panel = self.query_one(f"#{name}", Panel)
            if panel.room.width and panel.display:
                panel.show(maker(snapshot, panel.room.width))
        for name in ("speedup", "time"):
            panel = self.query_one(f"#{name}", Panel)
            if panel.display and panel.room:
                curve = figures.scaling_curve(snapshot, *panel.room) if name == "speedup" else ()
                panel.show(curve if name == "speedup" else figures.time_table(snapshot, *panel.room))
        self._show_curves(shot)

    def _show_curves(self, shot: Shot) -> None:
        snapshot = shot.snapshot
        curve = snapshot.curves.get(CURVE)
        for name in ("curve", "wide-curve"):
            panel = self.query_one(f"#{name}", Panel)
            if not panel.room or not panel.display:
                continue
            if curve is None or len(curve.values) < 2:
                panel.show([(part("no episode has ended twice yet", FAINT),)])
                continue
            x = (curve.seconds if shot.by_time else curve.steps).astype(float)
            values = curve.values.astype(float)
            panel.caption(panel.title, figure(float(values[-1])))
            small = name == "curve" and panel.room.height < 6
            rows: list[Row] = (
                sparkline(x, values, *panel.room) if small else chart(x, values, *panel.room, seconds=shot.by_time)
            )
            panel.show(rows)

    def _arrange(self) -> None:
        """Give the boards the lines they take, and the charts what is left."""
        grid, stage = self.grid, self.query_one("#stage")
        fitting = grid.fit_within(stage.size.width, stage.size.height)
        used = fitting.rows * fitting.tile[1] if fitting else stage.size.height
        spare = stage.size.height - used
        charts = self.query_one("#charts")
        roomy = fitting is not None and spare >= LEAST_CHARTS and stage.size.width >= 60
        if charts.display != roomy:
            charts.display = roomy
            self.set_class(roomy, "-charted")
        wanted = used if roomy else stage.size.height
        if grid.styles.height is None or grid.styles.height.value != wanted:
            grid.styles.height = wanted

    def on_resize(self) -> None:
        """Arrange anew."""
        self._arrange()

    def on_boards_refitted(self, event: Boards.Refitted) -> None:
        """Keep the page within the boards; ask for another look."""
        event.stop()
        self._first = self._first // self.grid.page * self.grid.page
        self.post_message(self.PageTurned())

    def on_boards_picked(self, event: Boards.Picked) -> None:
        """Open the board that was clicked."""
        event.stop()
        self.post_message(EnvironmentOpened(self._first + event.index))

    def turn_page(self, by: int) -> None:
        """Show another page of boards."""
        page = self.grid.page
        last = max(0, self._count - 1) // page * page
        first = min(last, max(0, self._first + by * page))
        if first != self._first:
            self._first = first
            self.post_message(self.PageTurned())

    def moved(self, env: int, columns: int, rows: int) -> int:
        """Return the environment beside `env` in the grid; turns the page where that is on another one."""
        grid = self.grid.fitting
        across = grid.columns if grid else 1
        found = min(max(0, self._count - 1), max(0, env + columns + rows * across))
        page = self.grid.page
        if found // page * page != self._first:
            self._first = found // page * page
            self.post_message(self.PageTurned())
        return found

    @property
    def pages(self) -> tuple[int, int]:
        """The page that is shown, from 1, and how many there are."""
        page = self.grid.page
        return self._first // page + 1, max(1, -(-self._count // page))
