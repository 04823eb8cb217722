"""The time of a step by phase."""

from __future__ import annotations

from ...training.telemetry.snapshot import Snapshot, ViewRequest
from ...training.units import Units, plural
from ..curve_options import CurveOptions
from ..drawing.chart import Line, chart
from ..drawing.numbers import duration, steady, whole
from ..drawing.panels import Section, column
from ..drawing.styles import BRIGHT, CYAN, FAINT, LINE, SOFT, TEXT, Row, bar, blank, fit, styled, width_of
from .base import LinesView, ViewUpdate
from .curves import plot_of, points
from .lanes import lanes_section
from .number_rows import COLORS, NAMES, hint, shares, stacked

MEANINGS = {
    "environment": "stepping the environments: in each step, the slowest worker",
    "transport": "additional waiting for workers: wake-ups, signals, uneven work",
    "inference": "computing actions",
    "learner": "gradient steps and what they need; with overlap or learner processes, waiting for them",
    "python": "the rest of the training loop",
    "ranks": "waiting for the slower ranks, and adding gradients",
    "unaccounted": "the rest of the wall time",
}
NAME = 16
STEP, EACH, SHARE = 12, 18, 9
NUMBERS = STEP + EACH + SHARE
SPEED = "sps"
ROOMY, CLOSE, LEAST_CURVE = 26, 11, 8
"""Lines of the bars with and without explanations, and of a curve."""
HIGH, LANE = 46, 2
"""Lines from which on there is room for explanations, and for lanes of so many lines."""


class TimingView(LinesView):
    """Bars in ms per step and in %, whose sum is the wall time of the window; lanes of processes; time over steps."""

    ID = "timing"

    def request(self, env: int) -> ViewRequest:  # noqa: ARG002 - times are not of one environment
        """Request what threads and processes did last, and the speed."""
        return ViewRequest(count=0, curves=(SPEED,), timeline=True)

    def show(self, update: ViewUpdate) -> None:
        """Draw the bars, and below them what there is room for."""
        if not update.numbers:
            return
        snapshot, (width, height) = update.snapshot, self._lines.size
        steps, wall = float(snapshot.times["steps"]), float(snapshot.times["wall"])
        units = snapshot.description.units
        roomy = height >= HIGH
        bars = Section(
            f"Time of a {units.step} by phase",
            lambda width, _: rows_of(snapshot, width, min(ROOMY if roomy else CLOSE, height - 2)),
            note=f"window: {wall:.1f} s, {whole(steps)} {plural(units.step)}",
        )
        lanes = lanes_section(snapshot.lanes, LANE if roomy else 1, snapshot.metrics)
        below = [section for section in (lanes, time_over_steps(update)) if section]
        self._lines.show(column([bars, *below], width, height))


def time_over_steps(update: ViewUpdate) -> Section | None:
    """Return the curve of the time that one step of one environment took; None before there is one."""
    found = points(update, SPEED)
    if found is None or not (found[1] > 0).any():
        return None
    units, moves = update.snapshot.description.units, found[1] > 0
    x, y = found[0][moves], 1000 / found[1][moves]
    plot = plot_of(update.snapshot, SPEED, CurveOptions(update.curves.over))
    title = f"Time of one {units.env} {units.step}, ms"
    note = duration(float(y[-1]) / 1000)
    return Section(
        title,
        lambda width, height: chart([Line(x, y, CYAN)], width, height, plot).rows,
        fills=True,
        note=note,
        least=LEAST_CURVE,
    )


def rows_of(snapshot: Snapshot, width: int, height: int) -> list[Row]:
    """Return the rows of the view: one stacked bar, a bar for every phase, and the sum."""
    wall, steps = float(snapshot.times["wall"]), float(snapshot.times["steps"])
    if wall <= 0 or steps <= 0:
        return hint("waiting for the first 2 s", width)
    n, units = snapshot.num_envs, snapshot.description.units
    entries = shares(snapshot)
    roomy, low = height >= 3 * len(entries) + 8, height < len(entries) + 5
    wide = width >= NAME + NUMBERS
    rows: list[Row] = [stacked(snapshot, width), *([] if low else [()]), _head(units, width, wide=wide)]
    if roomy:
        rows.append(())
    for name, seconds in entries:
        numbers = _figures(seconds / wall, seconds * n / steps, seconds / steps, wide=wide)
        rows.append(_phase(name, seconds / wall, numbers, width))
        if roomy:
            rows += [(blank(2), styled(MEANINGS[name], FAINT)), ()]
    if not low:
        rows.append((styled("─" * width, LINE),))
    total = _figures(1.0, wall * n / steps, wall / steps, wide=wide)
    whole_step = f"one {units.step} of all {plural(units.environment)}" if wide else f"one {units.step}"
    return [*rows, (styled(fit(whole_step, max(0, width - width_of(total))), BRIGHT), *total)]


def _head(units: Units, width: int, *, wide: bool) -> Row:
    each = f"{f'per {units.env} {units.step}':>{EACH}}" if wide else ""
    head = f"{f'ms/{units.step}':>{STEP}}{each}{'share':>{SHARE}}"
    return (blank(width - len(head)), styled(head, FAINT))


def _phase(name: str, share: float, numbers: Row, width: int) -> Row:
    left = width - width_of(numbers)
    room = left - NAME - 2
    if room < 4:
        return (styled(fit(NAMES[name], max(0, left)), COLORS[name]), *numbers)
    label = (styled("■ ", COLORS[name]), styled(fit(NAMES[name], NAME - 1), SOFT))
    return (*label, *bar(share, room - 1, COLORS[name]), blank(2), *numbers)


def _figures(share: float, step: float, env_step: float, *, wide: bool) -> Row:
    """Milliseconds per step of all environments, the time per step of one if there is room, and the share."""
    return (
        styled(f"{steady(1000 * step, 3):>{STEP}}", TEXT),
        *([styled(f"{duration(env_step):>{EACH}}", SOFT)] if wide else []),
        styled(f"{steady(100 * share, 1):>{SHARE - 2}} %", TEXT),
    )
