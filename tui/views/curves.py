"""Curves of metrics: how they are drawn, and in which order."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from ...training.telemetry.metric_names import split_metric_name
from ...training.telemetry.snapshot import Curve, Snapshot
from ...training.units import LENGTH, RETURN, first_of, plural
from ..curve_options import CurveOptions, Extent, Over, axis_of, nearest, smoothed
from ..drawing.chart import Chart, Line, Note, Plot, Reals, chart, sparkline
from ..drawing.numbers import readable
from ..drawing.panels import Rows, Section
from ..drawing.styles import (
    ACCENT,
    BRIGHT,
    CYAN,
    FAINT,
    GREEN,
    GROUND,
    MAGENTA,
    ORANGE,
    RED,
    YELLOW,
    Row,
    fit,
    mixed,
    styled,
)
from .base import ViewUpdate
from .number_rows import ONLY_CURVES, REPEATED, hint, known, one_frame

FIRST = (RETURN.name, LENGTH.name)
RATES = ("fps", "sps")
LAST = (*RATES, "learning_rate", *(f"info/{name}" for name in REPEATED))
TELLING = tuple(
    map(
        re.compile,
        (
            "return|score|ep_rew|(^|/)reward",
            "success|(^|[/_])win|solved",
            "eval",
            "^info/|reward",
            "value.*loss|loss.*value",
            "loss",
        ),
    )
)
"""What curves beside boards are about, by their names, most important first."""
UNTELLING = frozenset(
    (
        *("time", "time_elapsed", "iteration", "iterations", "epoch", "epochs", "update", "updates", "n_updates"),
        *("step", "steps", "global_step", "timesteps", "total_timesteps", "fps", "sps", "decisions"),
        *("learning_rate", "clip", "entropy_coefficient"),
    )
)
"""Names of curves that are drawn beside boards only if there is no other one: they grow, or say nothing of success."""
LEAST_TELLING = len(TELLING) + 2
LEAST_CHART = 6
USUAL = CurveOptions()
SHOWN = 16
"""Most curves beside boards. Their points are read with every snapshot."""
BEHIND = ((MAGENTA, ()), (ORANGE, (4, 2)), (YELLOW, (2, 2)), (RED, (6, 2, 2, 2)))
"""Color and dashes of the curves of other runs."""
DIM, DIMMER = 0.7, 0.4
"""Share of the color of the curves of other runs, and of the values behind their average."""
EDGE = (1, 2)
"""Dashes of the edges of a band."""
SLACK = 0.02
"""Share of the range within which a curve without a point at the cursor still has a value there."""


class Curves:
    """Draws curves in frames. A curve without a new point is not drawn again."""

    def __init__(self) -> None:
        self._lines: dict[str, tuple[object, list[Line]]] = {}
        self._drawn: dict[tuple[str, int, int], tuple[list[Line], Plot, Sequence[Note], Chart]] = {}
        self._marked: dict[str, tuple[Chart, float, float | None, Rows]] = {}

    def section(self, update: ViewUpdate, name: str, least: int = 1) -> Section:
        """Return a bordered curve with its latest value, which takes at least `least` lines."""
        title, more = title_of(update.snapshot, name)
        options = CurveOptions(update.curves.over)

        def rows(width: int, height: int) -> Rows:
            lines = self.lines(update.snapshot, name, options)
            plot = plot_of(update.snapshot, name, options)
            notes = notes_of(update.snapshot, options)
            return self.chart(name, lines, plot, (width, height), awaited(update.snapshot, name), notes=notes).rows

        return Section(title, rows, fills=True, note=latest(update.snapshot, name), more=more, least=least)

    def lines(self, snapshot: Snapshot, name: str, options: CurveOptions) -> list[Line]:
        """Return the lines of a metric; those without a new point are not made again."""
        version = (options.over, options.smoothing, options.overlays, _newest(snapshot.curves.get(name)))
        before, lines = self._lines.get(name, (None, []))
        if before != version:
            lines = lines_of(snapshot, name, options)
            self._lines[name] = version, lines
        return lines

    def chart(
        self,
        name: str,
        lines: list[Line],
        plot: Plot,
        size: tuple[int, int],
        awaits: str,
        *,
        notes: Sequence[Note] = (),
    ) -> Chart:
        """Return the chart of a metric; a low one has no axes, and one without two points says what it waits for."""
        before = self._drawn.get((name, *size))
        if before is None or before[0] is not lines or before[1:3] != (plot, notes):
            before = lines, plot, notes, _chart(lines, plot, *size, awaits).noted(notes)
            self._drawn[name, *size] = before
        return before[3]

    def marked(self, name: str, chart: Chart, x: float, y: float | None) -> Rows:
        """Return the rows of a metric's chart with the cursor at `x`, where its value is `y`."""
        before = self._marked.get(name)
        if before is None or before[0] is not chart or before[1:3] != (x, y):
            before = self._marked[name] = chart, x, y, chart.marked(x, y)
        return before[3]


def notes_of(snapshot: Snapshot, options: CurveOptions) -> tuple[Note, ...]:
    """Return where settings of the trainer were changed, on the x axis of curves."""
    over = options.over or snapshot.description.units.over
    return tuple((float(getattr(change, over)), f"{change.name} {change.after}") for change in snapshot.changes)


def _newest(curve: Curve | None) -> tuple[float, ...]:
    """Return what changes when a curve has a new point."""
    if curve is None or not len(curve.values):
        return ()
    return len(curve.values), curve.steps[0], curve.steps[-1], curve.values[-1]


def awaited(snapshot: Snapshot, name: str) -> str:
    """Return what brings the next value of a metric."""
    if snapshot.description.watched:
        return "the script logs it"
    return "an evaluation ends" if "eval" in _plain(name) else "an iteration ends"


def _chart(lines: Sequence[Line], plot: Plot, width: int, height: int, awaits: str) -> Chart:
    if all(len(line.x) < 2 for line in lines):
        if broken := len(lines[0].broken):
            return Chart([(styled(fit(f"{broken:,} points are NaN or infinite", width), RED),)])
        which = "second" if any(len(line.x) for line in lines) else "first"
        return Chart(hint(f"its {which} value comes when {awaits}", width))
    if height >= LEAST_CHART:
        return chart(lines, width, height, plot)
    main = plot.placed(lines[0])
    return Chart(sparkline(main.x, main.y, width, height, main.color))


def has_points(curve: Curve | None) -> bool:
    """Return whether a metric has a point."""
    return curve is not None and len(curve.values) > 0


def lines_of(snapshot: Snapshot, name: str, options: CurveOptions) -> list[Line]:
    """Return the lines of a metric from front to back: the session's, those of other runs, and what is smoothed."""
    over, color = options.over or snapshot.description.units.over, color_of(name)
    lines = [_line(snapshot.curves.get(name), over, color)]
    for run, (shade, dash) in zip(options.overlays, BEHIND, strict=False):
        lines.append(_line(run.curves.get(name), over, mixed(shade, GROUND, DIM), dash))
    for run, (shade, _) in zip(options.overlays, BEHIND, strict=False):
        edges = run.edges.get(name, ())
        lines += [_line(edge, over, mixed(shade, GROUND, DIMMER), EDGE) for edge in edges]
    if not options.smoothing:
        return lines
    values = lines[0]._replace(color=mixed(color, GROUND, DIMMER))
    return [*(line._replace(y=smoothed(line.y, options.smoothing)) for line in lines), values]


def _line(curve: Curve | None, over: Over, color: str, dash: tuple[int, ...] = ()) -> Line:
    """Return a curve as a line; points without an x value are left out."""
    if curve is None:
        return Line(np.zeros(0), np.zeros(0), color, dash)
    x, y = axis_of(curve, over), curve.values.astype(float)
    placed, finite = np.isfinite(x), np.isfinite(y)
    x = np.maximum.accumulate(np.where(placed, x, -np.inf))
    drawn, broken = placed & finite, placed & ~finite
    return Line(x[drawn], y[drawn], color, dash, x[broken], y[broken])


def plot_of(
    snapshot: Snapshot,
    name: str,
    options: CurveOptions,
    lines: Sequence[Line] = (),
    span: tuple[float, float] | None = None,
) -> Plot:
    """Return the axes of a metric; a y axis is not logarithmic if a value of `lines` within `span` is not positive."""
    units = snapshot.description.units
    over = options.over or units.over
    unit = {"steps": plural(units.step), "frames": plural(units.frame), "seconds": ""}[over]
    usually = usually_log(snapshot, name)
    log = options.is_log(name, usually=usually) and (usually or all_positive(lines, span))
    return Plot(unit, log_x=usually and log, log_y=log, span=span, from_zero=name in RATES)


def usually_log(snapshot: Snapshot, name: str) -> bool:
    """Return whether a metric has logarithmic axes unless the user says otherwise."""
    return any(figure.log for figure in snapshot.description.figures if figure.name == name)


def all_positive(lines: Sequence[Line], span: tuple[float, float] | None) -> bool:
    """Return whether all values within a range are positive."""
    shown = [line.within(*span) if span is not None else line for line in lines]
    return all(float(line.y.min()) > 0 for line in shown if len(line.y))


def extent_of(snapshot: Snapshot, names: Sequence[str], options: CurveOptions) -> Extent | None:
    """Return the range of x values of some metrics, other runs included; None without two of them."""
    over = options.over or snapshot.description.units.over
    own = [axis_of(snapshot.curves[name], over) for name in names if has_points(snapshot.curves.get(name))]
    others = [run.curves[name] for run in options.overlays for name in names if has_points(run.curves.get(name))]
    ends = [(float(x[0]), float(x[-1])) for x in (*own, *(axis_of(curve, over) for curve in others))]
    ends = [pair for pair in ends if np.isfinite(pair).all()]
    if not ends or min(low for low, _ in ends) >= (high := max(high for _, high in ends)):
        return None
    return Extent(min(low for low, _ in ends), high, max((float(x[-1]) for x in own), default=high))


def value_near(line: Line, place: float, slack: float) -> float | None:
    """Return the value of the point of a line that is nearest to a place; None beyond `slack` outside of the line."""
    if len(line.broken):
        order = np.argsort(np.append(line.x, line.broken), kind="stable")
        x, y = np.append(line.x, line.broken)[order], np.append(line.y, line.values)[order]
        line = line._replace(x=x, y=y)
    if not len(line.x) or not line.x[0] - slack <= place <= line.x[-1] + slack:
        return None
    return float(line.y[nearest(line.x, place)])


def values_at(lines: Sequence[Line], options: CurveOptions, place: float, slack: float) -> Row:
    """Return the values of all runs at a place in their colors; of a smoothed curve, at the end the value itself."""
    lines = [*lines[: 1 + len(options.overlays)], *(lines[-1:] if options.smoothing else ())]
    values = [value_near(line, place, slack) for line in lines]
    colors = [BRIGHT, *(line.color for line in lines[1:])]
    if options.smoothing:
        colors[-1] = FAINT
    return tuple(
        styled(f"{'  ' if at else ''}{'-' if value is None else readable(value)}", color)
        for at, (value, color) in enumerate(zip(values, colors, strict=True))
    )


def latest(snapshot: Snapshot, name: str) -> str:
    """Return the latest value of a metric as text."""
    return readable(snapshot.metrics.get(name))


def title_of(snapshot: Snapshot, name: str) -> tuple[str, str]:
    """Return what to call a metric, and a remark. A prefix `loss/` is the remark, if no other metric has the rest."""
    about = snapshot.description
    if len(about.figures) > 1 and not snapshot.metrics:  # it is not known yet which one is measured
        return "Learning", ""
    titles = {figure.name: (figure.title, figure.note) for figure in (*about.figures, LENGTH)}
    rates = {"fps": about.units.fps, "sps": about.units.sps}
    if name in titles or name in rates:
        return titles.get(name, (rates.get(name, name), ""))
    title, plain = snapshot.metric_title(name), _plain(name)
    prefix, _, rest = plain.rpartition("/")
    same = {other for other in map(_plain, snapshot.metrics) if other.rpartition("/")[2] == rest}
    return (title.replace(plain, rest, 1), prefix) if rest and same <= {plain} else (title, "")


def _plain(name: str) -> str:
    return split_metric_name(name)[1]


def main_curves(snapshot: Snapshot, options: CurveOptions = USUAL) -> tuple[str, ...]:
    """Return the names of the curves that are drawn beside boards: what the user has pinned, most important first."""
    goal, names = first_of(snapshot.description.figures, snapshot.metrics).name, all_curves(snapshot)
    pinned = [name for name in options.pinned if name in names and name != goal]
    others = sorted((name for name in names if name not in {goal, *pinned}), key=_rank)
    telling = [name for name in others if _rank(name) < LEAST_TELLING]
    chosen = (telling or ([] if pinned else others[:1]))[: max(0, SHOWN - 1 - len(pinned))]
    return (goal, *pinned, *sorted(chosen, key=lambda name: _is_flat(snapshot.curves.get(name))))[:SHOWN]


def _is_flat(curve: Curve | None) -> bool:
    """Return whether a curve has always had the same value."""
    return curve is not None and len(curve.values) > 1 and bool((curve.values == curve.values[0]).all())


def _rank(name: str) -> int:
    """Return how little a curve says about the success of a training: 0 for the most."""
    path = _plain(name).lower()
    last = path.rpartition("/")[2]
    if path.startswith("time/") or last in UNTELLING or ONLY_CURVES.match(path):
        return LEAST_TELLING
    if name == LENGTH.name:
        return LEAST_TELLING - 1
    return next((rank for rank, kind in enumerate(TELLING) if kind.search(path)), len(TELLING))


def all_curves(snapshot: Snapshot) -> list[str]:
    """Return the names of all curves: return, length, those of the task, of the trainer, speed, and distributions."""
    names = [name for name in known(snapshot) if not (name == "sps" and one_frame(snapshot))]
    goals = (figure.name for figure in snapshot.description.figures)
    first = [name for name in dict.fromkeys((*goals, *FIRST)) if name in names]
    spread = [name for name in names if ONLY_CURVES.match(name)]
    own = [name for name in names if name.startswith("info/") and name not in {*spread, *LAST}]
    last = [name for one in LAST for name in names if _plain(name) == one]
    rest = grouped([name for name in names if name not in {*first, *own, *last, *spread}])
    return [*first, *own, *rest, *last, *spread]


def grouped(names: Sequence[str]) -> list[str]:
    """Return names with those of the same prefix, as in `loss/value`, beside each other, at the place of the first."""
    prefixes = {name: _plain(name).rpartition("/")[0] or _plain(name) for name in names}
    places = {prefix: place for place, prefix in reversed(list(enumerate(prefixes.values())))}
    return sorted(names, key=lambda name: places[prefixes[name]])


def points(update: ViewUpdate, name: str) -> tuple[Reals, Reals] | None:
    """Return the x and y values of a metric's curve, if there are any."""
    found = update.snapshot.curves.get(name)
    if found is None:
        return None
    over = update.curves.over or update.snapshot.description.units.over
    finite = np.isfinite(found.values)
    return axis_of(found, over)[finite], found.values[finite].astype(float)


def color_of(name: str) -> str:
    """Return the color of a metric's curve."""
    if name in FIRST:
        return GREEN
    return CYAN if name in LAST else ACCENT
