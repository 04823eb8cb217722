"""The runs of a grid on one screen: a row for each, and the mean over the seeds of each group of settings as curves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import work
from textual.binding import Binding, BindingType
from textual.message import Message

from ...training.grid.queue import COMPLETED, FAILED, INTERRUPTED, STARTING, WAITING, GridQueue, GridRun
from ...training.runs.overview import LIVE
from ..app.app import PacApp
from ..dialogs.dialog import ListDialog
from ..drawing.chart import Line, Plot, chart
from ..drawing.numbers import readable, short
from ..drawing.panels import BORDER, bordered
from ..drawing.spark import BLOCKS, COLUMNS, PLAIN_BLOCKS, sparkline
from ..drawing.styles import (
    ACCENT,
    BRIGHT,
    CYAN,
    FAINT,
    GREEN,
    MAGENTA,
    ORANGE,
    RED,
    SIGNS,
    SOFT,
    TEXT,
    YELLOW,
    Row,
    bar,
    blank,
    fit,
    fit_ends,
    styled,
)
from ..terminal.terminal_app import TerminalApp
from ..views.number_rows import hint, wrapped
from .results import Group, Seen, goal_of, groups_of, spread

PERIOD = 1.0
"""Seconds between two readings of the disk."""
STATES = {WAITING: FAINT, STARTING: YELLOW, LIVE: GREEN, COMPLETED: TEXT, INTERRUPTED: SOFT, FAILED: RED}
HUES = (CYAN, MAGENTA, GREEN, ORANGE, YELLOW, ACCENT)
DASH = (1, 2)
"""Dots of the lines one standard deviation from a mean."""
TABLE = (
    ("state", 12, 0),
    ("", 12, 66),
    ("done", 8, 50),
    ("best", 10, 80),
    ("last", 10, 0),
    ("curve", COLUMNS + 2, 100),
)
"""Columns beside the name: heading, width, and the least width of the screen that has the column."""
CHART = ((40, 18), (28, 12), (20, 8), (0, 0))
"""Rows for the curves, by the least height of the screen."""
LEGEND = 30


class GridScreen(ListDialog[Seen, GridRun | None]):
    """Lists the runs; the result is one to show.

    Args:
        queue: The runs.
        selected: The name of the run that is selected at first; the first one by default.
    """

    MOST_COLUMNS, FILLS = 10_000, True

    @dataclass
    class Read(Message):
        """The disk was read."""

        seen: list[Seen]

    def __init__(self, name: str, queue: GridQueue, selected: str = "") -> None:
        super().__init__()
        self.heading, self._queue = name, queue
        self._seen = [Seen(run, None) for run in queue.runs]
        self.selected = selected

    def on_mount(self) -> None:
        """Read the disk, now and periodically."""
        self._look()
        self.set_interval(PERIOD, self._look)

    @work(thread=True, exclusive=True)
    def _look(self) -> None:
        self.post_message(self.Read([Seen(run, run.overview()) for run in self._queue.runs]))

    def on_grid_screen_read(self, message: Read) -> None:
        """Show what was read."""
        self._seen = message.seen
        self.draw()

    @property
    def shown(self) -> Sequence[Seen]:
        """All runs."""
        return self._seen

    def _key(self, item: Seen) -> str:
        return item.run.member.name

    def _group(self, _item: Seen) -> str:
        return _item.run.member.group

    def _columns(self, width: int) -> list[tuple[str, int]]:
        return [(name, wide) for name, wide, least in TABLE if width + BORDER >= least]

    def _head(self, width: int) -> list[Row]:
        columns = self._columns(width)
        room = width - sum(wide for _, wide in columns)
        return [(styled(fit("  run", room), FAINT), *(styled(f"{name:>{wide}}", FAINT) for name, wide in columns))]

    def _row(self, item: Seen, width: int, *, selected: bool) -> Row:
        columns, run = self._columns(width), item.run
        values = [value for _, value in item.points()]
        share = run.progress(item.found)
        counted = item.row.get(item.found.units.over) if item.found is not None else None
        blocks = BLOCKS if SIGNS.braille else PLAIN_BLOCKS
        texts = {
            "state": (run.state, STATES.get(run.state, SOFT)),
            "done": (short(counted) if counted is not None else "", TEXT),
            "best": (readable(item.found.best) if item.found is not None and item.found.best is not None else "", TEXT),
            "last": (readable(values[-1]) if values else "", BRIGHT),
            "curve": (sparkline(values, log=goal_of([item]).log, blocks=blocks), CYAN),
        }
        cells: list[Row] = []
        for name, wide in columns:
            if name:
                text, color = texts[name]
                cells.append((styled(f"{text:>{wide}}", color),))
            else:
                cells.append((blank(2), *bar(share, wide - 2, GREEN if run.state == LIVE else SOFT)))
        room = width - sum(wide for _, wide in columns) - 2
        name = f"seed {run.member.config.seed}"
        return (
            styled("▌ " if selected else "  ", ACCENT),
            styled(fit_ends(name, room), BRIGHT if selected else TEXT, bold=selected),
            *(part for cell in cells for part in cell),
        )

    def _foot(self, item: Seen | None, width: int, room: int) -> list[Row]:
        if item is not None and item.run.error:
            return [(styled(line, RED),) for line in wrapped(item.run.error, width)[: max(1, room)]]
        return []

    def _note(self, _at: int, _count: int) -> str | Row:
        runs = self._queue.runs
        done, live = (sum(run.state == state for run in runs) for state in (COMPLETED, LIVE))
        failed = sum(run.state == FAILED for run in runs)
        text = f"{done} of {len(runs)} done, {live} training"
        return f"{text}, {failed} failed" if failed else text

    def _below(self, _item: Seen | None, width: int) -> list[Row]:
        height = next(rows for least, rows in CHART if self.size.height >= least)
        if not height:
            return []
        groups, goal = groups_of(self._seen), goal_of(self._seen)
        inner = width - BORDER
        left = LEGEND if inner >= 2 * LEGEND else 0
        curves = [(group, color, group.band()) for group, color in zip(groups, HUES * len(groups), strict=False)]
        lines: list[Line] = []
        for _, color, (x, mean, deviation) in curves:
            lines.append(Line(x, mean, color))
            if deviation.any():
                lines += [Line(x, mean + sign * deviation, color, DASH) for sign in (-1, 1)]
        lines = [line for line in lines if len(line.x) > 1]
        units = next((one.found.units for one in self._seen if one.found is not None), None)
        plot = Plot(units.counted if units is not None else "steps", log_x=goal.log, log_y=goal.log)
        drawn = chart(lines, inner - left, height - 2, plot).rows if lines else hint("no curve yet", inner - left)
        legend = _legend(curves, max(0, left - 2), height - 2) if left else []
        rows = [
            (*(legend[at] if at < len(legend) else (blank(left),)), *(drawn[at] if at < len(drawn) else ()))
            for at in range(height - 2)
        ]
        title = f"{goal.title}: mean over seeds, and one standard deviation"
        return bordered(title, rows, width, height, "Enter shows a run, q stops all")

    def action_leave(self) -> None:
        """Stop the grid."""
        self.app.exit(0)

    def _take(self, item: Seen) -> None:
        if item.run.state == LIVE:
            self.dismiss(item.run)
        else:
            self.error = "only a run that is being trained can be shown; `pac-tui runs show` knows the others"


def _legend(curves: Sequence[tuple[Group, str, object]], width: int, height: int) -> list[Row]:
    """Return what the curves are, and mean and deviation of the last values."""
    rows: list[Row] = []
    for group, color, _ in curves:
        found = spread(group)
        mean, deviation = found["mean"], found["deviation"]
        value = readable(mean) if mean is not None else ""
        value += f" ± {readable(deviation)}" if deviation is not None else ""
        rows.append((styled("■ ", color), styled(fit(group.name or "all seeds", width - 2), TEXT), blank(2)))
        rows.append((blank(2), styled(fit(value, width), BRIGHT)))
    return rows[:height]


class GridApp(TerminalApp):
    """Shows the runs of a grid until all have ended, or the user leaves.

    Attributes:
        chosen: The run to show, if the user has chosen one.
    """

    CSS_PATH = PacApp.CSS_PATH
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+c,ctrl+q,q", "exit", "Stop", priority=True)]

    def __init__(self, name: str, queue: GridQueue, selected: str = "") -> None:
        super().__init__()
        self.chosen: GridRun | None = None
        self._title, self._queue, self._selected = name, queue, selected

    def on_mount(self) -> None:
        """Open the list."""
        super().on_mount()
        self.push_screen(GridScreen(self._title, self._queue, self._selected), self._picked)
        self.set_interval(PERIOD, self._leave_at_end)

    def _leave_at_end(self) -> None:
        if self._queue.over:
            self.exit(0)

    def _picked(self, run: GridRun | None) -> None:
        self.chosen = run
        self.exit(0)

    def action_exit(self) -> None:
        """Leave."""
        self.exit(0)
