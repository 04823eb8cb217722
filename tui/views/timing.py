"""Where a step's time goes."""

from __future__ import annotations

from textual.app import ComposeResult

from ...training.snapshot import Snapshot
from ...training.units import Units, plural
from ..ink import BRIGHT, FAINT, SOFT, TEXT, Row, bar, blank, fit, part
from ..lines import Lines
from ..numbers import duration, steady, whole
from ..panels import Section, column
from .base import Shot, View
from .figures import COLORS, NAMES, hint, shares, stacked

MEANINGS = {
    "environment": "the games themselves: in each step, the slowest worker",
    "transport": "waiting for workers beyond that: wake-ups, signals, uneven work",
    "inference": "the policy choosing actions",
    "learner": "advantages and gradient steps",
    "python": "everything else in the training loop",
    "unaccounted": "the rest of the wall time",
}
NAME = 16
NUMBERS = 36


class TimingView(View):
    """Bars in ms per step and in %, which add up to the wall time of the window."""

    def __init__(self) -> None:
        super().__init__(id="timing")
        self._lines = Lines()

    def compose(self) -> ComposeResult:
        """One panel."""
        yield self._lines

    def show(self, shot: Shot) -> None:
        """Draw the bars."""
        if shot.figures:
            steps, wall = float(shot.snapshot.times["steps"]), float(shot.snapshot.times["wall"])
            units = shot.snapshot.description.units
            bars = Section(
                f"Where the time of a {units.step} goes",
                lambda width, height: rows_of(shot.snapshot, width, height),
                fills=True,
                note=f"window: {wall:.1f} s, {whole(steps)} {plural(units.step)}",
            )
            self._lines.show(column([bars], *self._lines.size))


def rows_of(snapshot: Snapshot, width: int, height: int) -> list[Row]:
    """Return the whole view: one stacked bar, then a bar for every phase, and their sum."""
    wall, steps = float(snapshot.times["wall"]), float(snapshot.times["steps"])
    if wall <= 0 or steps <= 0:
        return hint("waiting for a window of 2 s", width)
    n, units = snapshot.num_envs, snapshot.description.units
    entries = shares(snapshot)
    roomy = height >= 3 * len(entries) + 8
    stack = stacked(snapshot, width)
    rows: list[Row] = [stack, (), _head(units, width), ()] if roomy else [stack, (), _head(units, width)]
    for name, seconds in entries:
        numbers = _figures(seconds / wall, seconds * n / steps, seconds / steps)
        rows.append(_phase(name, seconds / wall, numbers, width))
        if roomy:
            rows += [(blank(2), part(MEANINGS[name], FAINT)), ()]
    rows.append((part("─" * width, FAINT),))
    total = _figures(1.0, wall * n / steps, wall / steps)
    rows.append(
        (part(fit(f"one {units.step} of all {plural(units.environment)}", max(0, width - NUMBERS)), BRIGHT), *total)
    )
    return rows


def _head(units: Units, width: int) -> Row:
    each = f"per {units.env} {units.step}"
    return (blank(width - NUMBERS), part(f"{f'ms/{units.step}':>12}{each:>15}{'share':>9}", FAINT))


def _phase(name: str, share: float, numbers: Row, width: int) -> Row:
    room = width - NUMBERS - NAME - 2
    if room < 4:
        return (part(fit(NAMES[name], max(0, width - NUMBERS)), COLORS[name]), *numbers)
    return (part(fit(NAMES[name], NAME), SOFT), *bar(share, room, COLORS[name]), blank(2), *numbers)


def _figures(share: float, step: float, env_step: float) -> Row:
    """Milliseconds of a step of all environments, the time of one environment's, and the share."""
    return (
        part(f"{steady(1000 * step, 3):>12}", TEXT),
        part(f"{duration(env_step):>15}", SOFT),
        part(f"{steady(100 * share, 1):>7} %", TEXT),
    )
