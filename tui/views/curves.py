"""Curves of metrics: how they are drawn, and in which order."""

from __future__ import annotations

from ...training.telemetry.snapshot import Snapshot
from ...training.units import LENGTH, RETURN, first_of
from ..drawing.chart import Plot, Reals, chart, sparkline
from ..drawing.numbers import figure
from ..drawing.panels import Rows, Section
from ..drawing.styles import ACCENT, CYAN, GREEN, ORANGE
from .base import ViewUpdate
from .figures import hint, known

FIRST = (RETURN.name, LENGTH.name)
LAST = ("fps", "sps", "learning_rate")
LEAST_CHART = 6
SHOWN = 4
"""Most curves beside boards."""


class Curves:
    """Draws curves in frames. A curve without a new point is not drawn again."""

    def __init__(self) -> None:
        self._drawn: dict[tuple[str, int, int], tuple[object, Rows]] = {}

    def section(self, update: ViewUpdate, name: str, least: int = 1) -> Section:
        """Return a framed curve with its latest value, which takes at least `least` lines."""
        about = update.snapshot.description
        titles = {figure.name: (figure.title, figure.note) for figure in (*about.figures, LENGTH)}
        plain = update.snapshot.metric_title(name)
        title, more = titles.get(name, ({"fps": about.units.fps, "sps": about.units.sps}.get(name, plain), ""))
        if len(about.figures) > 1 and not update.snapshot.metrics:  # it is not known yet which one is measured
            title, more = "Learning", ""
        latest = figure(update.snapshot.metrics.get(name))
        return Section(
            title, lambda *room: self._rows(update, name, *room), fills=True, note=latest, more=more, least=least
        )

    def _rows(self, update: ViewUpdate, name: str, width: int, height: int) -> Rows:
        found = points(update, name)
        if found is None or len(found[0]) < 2:
            return hint("waiting for two points", width)
        x, y = found
        newest = (update.by_time, len(x), x[0], x[-1], y[-1])
        before, rows = self._drawn.get((name, width, height), (None, ()))
        if before != newest:
            plot = plot_of(update, name)
            rows = (
                sparkline(*plot.placed(x, y), width, height, plot.color)
                if height < LEAST_CHART
                else chart(x, y, width, height, plot)
            )
            self._drawn[name, width, height] = newest, rows
        return rows


def main_curves(snapshot: Snapshot) -> tuple[str, ...]:
    """Return the names of the curves that are drawn beside boards, most important first."""
    goal = first_of(snapshot.description.figures, snapshot.metrics).name
    return tuple(dict.fromkeys((goal, *all_curves(snapshot))))[:SHOWN]


def all_curves(snapshot: Snapshot) -> list[str]:
    """Return the names of all curves: return and length, then those of the task, of the trainer, and speed."""
    names = known(snapshot)
    goals = (figure.name for figure in snapshot.description.figures)
    first = [name for name in dict.fromkeys((*goals, *FIRST)) if name in names]
    own = [name for name in names if name.startswith("info/")]
    last = [name for name in LAST if name in names]
    rest = [name for name in names if name not in {*first, *own, *last}]
    return [*first, *own, *rest, *last]


def points(update: ViewUpdate, name: str) -> tuple[Reals, Reals] | None:
    """Return the x and y values of a metric's curve, if there are any."""
    found = update.snapshot.curves.get(name)
    if found is None:
        return None
    over = found.seconds if update.by_time else getattr(found, update.snapshot.description.units.over)
    return over.astype(float), found.values.astype(float)


def plot_of(update: ViewUpdate, name: str) -> Plot:
    """Return the axes and color of a metric's curve."""
    about = update.snapshot.description
    log = any(figure.log for figure in about.figures if figure.name == name)
    return Plot("" if update.by_time else about.units.counted, log, color_of(name))


def color_of(name: str) -> str:
    """Return the color of a metric's curve."""
    if name in FIRST:
        return GREEN
    if name.startswith("info/"):
        return CYAN
    return ORANGE if name in LAST else ACCENT
