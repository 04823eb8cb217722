"""Curves: how any metric's is drawn, and which of them tell most of what was learned."""

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
"""Curves beside boards, at most."""


class Curves:
    """Draws curves in frames; one that has no new point is not drawn again."""

    def __init__(self) -> None:
        self._drawn: dict[tuple[str, int, int], tuple[object, Rows]] = {}

    def section(self, shot: ViewUpdate, name: str, least: int = 1) -> Section:
        """Return a curve in a frame that fills what is left, if that is `least` lines, with its latest value."""
        about = shot.snapshot.description
        told = {figure.name: (figure.title, figure.note) for figure in (*about.figures, LENGTH)}
        title, more = told.get(name, ({"fps": about.units.fps, "sps": about.units.sps}.get(name, name), ""))
        if len(about.figures) > 1 and not shot.snapshot.metrics:  # which of them is measured is not known yet
            title, more = "Learning", ""
        latest = figure(shot.snapshot.metrics.get(name))
        return Section(
            title, lambda *room: self._rows(shot, name, *room), fills=True, note=latest, more=more, least=least
        )

    def _rows(self, shot: ViewUpdate, name: str, width: int, height: int) -> Rows:
        found = points(shot, name)
        if found is None or len(found[0]) < 2:
            episodes = " that sees an episode end" if shot.snapshot.description.units.episodes else ""
            return hint(f"the curve begins with the second iteration{episodes}", width)
        x, y = found
        newest = (shot.by_time, len(x), x[0], x[-1], y[-1])
        before, rows = self._drawn.get((name, width, height), (None, ()))
        if before != newest:
            plot = plot_of(shot, name)
            rows = (
                sparkline(*plot.placed(x, y), width, height, plot.color)
                if height < LEAST_CHART
                else chart(x, y, width, height, plot)
            )
            self._drawn[name, width, height] = newest, rows
        return rows


def best(snapshot: Snapshot) -> tuple[str, ...]:
    """Return the names of the curves that stand beside boards: first that which tells most of what was learned."""
    goal = first_of(snapshot.description.figures, snapshot.metrics).name
    return tuple(dict.fromkeys((goal, *ordered(snapshot))))[:SHOWN]


def ordered(snapshot: Snapshot) -> list[str]:
    """Return the names of all curves: return and length, the task's own, the trainer's, speed."""
    names = known(snapshot)
    goals = (figure.name for figure in snapshot.description.figures)
    first = [name for name in dict.fromkeys((*goals, *FIRST)) if name in names]
    own = [name for name in names if name.startswith("info/")]
    last = [name for name in LAST if name in names]
    rest = [name for name in names if name not in {*first, *own, *last}]
    return [*first, *own, *rest, *last]


def points(shot: ViewUpdate, name: str) -> tuple[Reals, Reals] | None:
    """Return a metric's points over what the curves run over, if there are any."""
    found = shot.snapshot.curves.get(name)
    if found is None:
        return None
    over = found.seconds if shot.by_time else getattr(found, shot.snapshot.description.units.over)
    return over.astype(float), found.values.astype(float)


def plot_of(shot: ViewUpdate, name: str) -> Plot:
    """Return how a metric's curve is drawn."""
    about = shot.snapshot.description
    log = any(figure.log for figure in about.figures if figure.name == name)
    return Plot("" if shot.by_time else about.units.counted, log, color_of(name))


def color_of(name: str) -> str:
    """Return a curve's colour by what it is about."""
    if name in FIRST:
        return GREEN
    if name.startswith("info/"):
        return CYAN
    return ORANGE if name in LAST else ACCENT
