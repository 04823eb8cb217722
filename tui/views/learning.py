"""Learning curves: every figure of the session and of the trainer over steps or wall time."""

from __future__ import annotations

from textual.app import ComposeResult

from ...training.snapshot import Look, Snapshot
from ..chart import chart
from ..ink import ACCENT, CYAN, GREEN, ORANGE, Row
from ..lines import Lines
from ..numbers import figure
from ..panels import Rows, Section, beside, column, shares
from .base import Shot, View
from .figures import hint

FIRST = ("return_mean", "length_mean")
LAST = ("fps", "sps", "learning_rate")
MOST = 12
CHART = (36, 9)
TITLES = {"return_mean": "return, mean of 100", "length_mean": "length, mean of 100"}


class LearningView(View):
    """As many charts as are legible, in pages."""

    def __init__(self) -> None:
        super().__init__(id="learning")
        self._page = 0
        self._names: list[str] = []
        self._lines = Lines()

    def compose(self) -> ComposeResult:
        """A grid of charts."""
        yield self._lines

    @property
    def shape(self) -> tuple[int, int]:
        """Charts side by side and on top of each other."""
        across = min(4, max(1, self.size.width // CHART[0]))
        down = max(1, self.size.height // CHART[1])
        return across, min(down, MOST // across)

    @property
    def shown(self) -> list[str]:
        """The names on this page."""
        across, down = self.shape
        return self._names[self._page * across * down :][: across * down]

    def look(self, env: int) -> Look:  # noqa: ARG002 - curves are not of one environment
        """The curves of this page."""
        return Look(count=0, curves=tuple(self.shown))

    def show(self, shot: Shot) -> None:
        """Draw the curves."""
        if not shot.figures:
            return
        self._names = ordered(shot.snapshot)
        across, down = self.shape
        self._page = min(self._page, max(0, (len(self._names) - 1) // (across * down)))
        charts = [_section(name, shot) for name in self.shown]
        width, height = self._lines.size
        if not charts:
            self._lines.show(hint("the first iteration is not over yet", width))
            return
        lines = [charts[start : start + across] for start in range(0, len(charts), across)]
        rows: list[Row] = []
        for line, tall in zip(lines, shares(height, len(lines)), strict=True):
            widths = shares(width, across)[: len(line)]
            rows += beside([column([chart], wide, tall) for chart, wide in zip(line, widths, strict=True)], widths)
        self._lines.show(rows)

    def turn_page(self, by: int) -> None:
        """Show other curves."""
        across, down = self.shape
        last = max(0, (len(self._names) - 1) // (across * down))
        self._page = min(last, max(0, self._page + by))


def _section(name: str, shot: Shot) -> Section:
    """A curve with its axes, and its latest value."""
    curve = shot.snapshot.curves.get(name)

    def rows(width: int, height: int) -> Rows:
        if curve is None:
            return ()
        x = (curve.seconds if shot.by_time else curve.steps).astype(float)
        return chart(x, curve.values.astype(float), width, height, seconds=shot.by_time, color=color_of(name))

    return Section(TITLES.get(name, name), rows, fills=True, note=figure(shot.snapshot.metrics.get(name)))


def ordered(snapshot: Snapshot) -> list[str]:
    """Return the names of all curves: return and length, the task's own, the trainer's, speed."""
    names = list(snapshot.metrics)
    first = [name for name in FIRST if name in names]
    own = [name for name in names if name.startswith("info/")]
    last = [name for name in LAST if name in names]
    rest = [name for name in names if name not in {*first, *own, *last}]
    return [*first, *own, *rest, *last]


def color_of(name: str) -> str:
    """Return a curve's colour by what it is about."""
    if name in FIRST:
        return GREEN
    if name.startswith("info/"):
        return CYAN
    return ORANGE if name in LAST else ACCENT
