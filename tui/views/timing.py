"""The time of a step by phase."""

from __future__ import annotations

from textual.app import ComposeResult

from ...training.telemetry.snapshot import Snapshot
from ...training.units import Units, plural
from ..drawing.numbers import duration, steady, whole
from ..drawing.panels import Section, column
from ..drawing.styles import BRIGHT, FAINT, SOFT, TEXT, Row, bar, blank, fit, styled, width_of
from ..drawing.widgets import TextLines
from .base import BaseView, ViewUpdate
from .figures import COLORS, NAMES, hint, shares, stacked

MEANINGS = {
    "environment": "stepping the environments: in each step, the slowest worker",
    "transport": "additional waiting for workers: wake-ups, signals, uneven work",
    "inference": "computing actions",
    "learner": "computing advantages, gradient steps",
    "python": "the rest of the training loop",
    "unaccounted": "the rest of the wall time",
}
NAME = 16
STEP, EACH, SHARE = 12, 18, 9
NUMBERS = STEP + EACH + SHARE


class TimingView(BaseView):
    """Bars in ms per step and in %, whose sum is the wall time of the window."""

    def __init__(self) -> None:
        super().__init__(id="timing")
        self._lines = TextLines()

    def compose(self) -> ComposeResult:
        """One panel."""
        yield self._lines

    def show(self, update: ViewUpdate) -> None:
        """Draw the bars."""
        if update.figures:
            steps, wall = float(update.snapshot.times["steps"]), float(update.snapshot.times["wall"])
            units = update.snapshot.description.units
            bars = Section(
                f"Time of a {units.step} by phase",
                lambda width, height: rows_of(update.snapshot, width, height),
                fills=True,
                note=f"window: {wall:.1f} s, {whole(steps)} {plural(units.step)}",
            )
            self._lines.show(column([bars], *self._lines.size))


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
        rows.append((styled("─" * width, FAINT),))
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
    return (styled(fit(NAMES[name], NAME), SOFT), *bar(share, room, COLORS[name]), blank(2), *numbers)


def _figures(share: float, step: float, env_step: float, *, wide: bool) -> Row:
    """Milliseconds per step of all environments, the time per step of one if there is room, and the share."""
    return (
        styled(f"{steady(1000 * step, 3):>{STEP}}", TEXT),
        *([styled(f"{duration(env_step):>{EACH}}", SOFT)] if wide else []),
        styled(f"{steady(100 * share, 1):>{SHARE - 2}} %", TEXT),
    )
