"""The curves of runs as an SVG picture, those of several seeds as their mean with one standard deviation."""

from __future__ import annotations

from collections.abc import Sequence

from ..drawing.curves_svg import SvgCurve, curves_svg
from ..run_table import RunGroup


def picture_of(groups: Sequence[RunGroup]) -> str:
    """Return the picture of the curves of groups of runs."""
    goal, units = groups[0].goal, groups[0].runs[0].units
    title = f"{goal.title}: mean over seeds, and one standard deviation"
    return curves_svg(title, [_curve(group, units.over) for group in groups], units.counted, log=goal.log)


def _curve(group: RunGroup, over: str) -> SvgCurve:
    x, mean, deviation = group.band(over)
    if len(group.runs) == 1:
        return SvgCurve(group.title, x, mean)
    return SvgCurve(group.title, x, mean, mean - deviation, mean + deviation)
