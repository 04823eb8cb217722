"""Learning curves: every figure of the session and of the trainer over steps or wall time."""

from __future__ import annotations

from textual.app import ComposeResult

from ...training.snapshot import Look, Snapshot
from ..chart import chart
from ..ink import ACCENT, CYAN, GREEN, ORANGE
from ..lines import Panel
from ..numbers import figure
from .base import Shot, View

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

    def compose(self) -> ComposeResult:
        """A grid of charts."""
        for index in range(MOST):
            yield Panel("", id=f"chart-{index}")

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
        names = self.shown
        down = max(1, min(down, -(-len(names) // across)))
        if (self.styles.grid_size_columns, self.styles.grid_size_rows) != (across, down):
            self.styles.grid_size_columns, self.styles.grid_size_rows = across, down
        for index in range(MOST):
            panel = self.query_one(f"#chart-{index}", Panel)
            panel.display = index < max(1, len(names))
            if index < len(names):
                self._draw(panel, names[index], shot)

    @staticmethod
    def _draw(panel: Panel, name: str, shot: Shot) -> None:
        curve = shot.snapshot.curves.get(name)
        panel.caption(TITLES.get(name, name), figure(shot.snapshot.metrics.get(name)))
        if curve is None or not panel.room:
            return
        x = (curve.seconds if shot.by_time else curve.steps).astype(float)
        panel.show(chart(x, curve.values.astype(float), *panel.room, seconds=shot.by_time, color=color_of(name)))

    def turn_page(self, by: int) -> None:
        """Show other curves."""
        across, down = self.shape
        last = max(0, (len(self._names) - 1) // (across * down))
        self._page = min(last, max(0, self._page + by))


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
