"""Curves: that of the goal, which is what tells most of what was learned, and how any metric's is drawn."""

from __future__ import annotations

from ...training.snapshot import Snapshot
from ...training.units import Figure, first_of
from ..chart import Plot, Reals, chart, sparkline
from ..ink import ACCENT, Row
from ..numbers import figure
from ..panels import Maker, Section
from .base import Shot
from .figures import hint

LEAST_CHART = 6


def goal(snapshot: Snapshot) -> Figure:
    """Return the figure that tells most of what was learned."""
    return first_of(snapshot.description.figures, snapshot.metrics)


def curves_of(snapshot: Snapshot) -> tuple[str, ...]:
    """Return the names of the metrics of which one is the goal."""
    return tuple(figure.name for figure in snapshot.description.figures)


def goal_section(shot: Shot, rows: Maker | None = None) -> Section:
    """The goal's curve in a frame, with its latest value."""
    found = goal(shot.snapshot)
    latest = figure(shot.snapshot.metrics.get(found.name))
    return Section(found.title, rows or (lambda *room: curve(shot, *room)), fills=True, note=latest, more=found.note)


def curve(shot: Shot, width: int, height: int) -> list[Row]:
    """The goal over steps or wall time, with axes where there is room for them."""
    name = goal(shot.snapshot).name
    found = points(shot, name)
    if found is None or len(found[0]) < 2:
        episodes = " that sees an episode end" if shot.snapshot.description.units.episodes else ""
        return hint(f"the curve begins with the second iteration{episodes}", width)
    plot = plot_of(shot, name)
    return (
        sparkline(*plot.placed(*found), width, height) if height < LEAST_CHART else chart(*found, width, height, plot)
    )


def points(shot: Shot, name: str) -> tuple[Reals, Reals] | None:
    """Return a metric's points over what the curves run over, if there are any."""
    found = shot.snapshot.curves.get(name)
    if found is None:
        return None
    over = found.seconds if shot.by_time else getattr(found, shot.snapshot.description.units.over)
    return over.astype(float), found.values.astype(float)


def plot_of(shot: Shot, name: str, color: str = ACCENT) -> Plot:
    """Return how a metric's curve is drawn."""
    about = shot.snapshot.description
    log = any(figure.log for figure in about.figures if figure.name == name)
    return Plot("" if shot.by_time else about.units.counted, log, color)
