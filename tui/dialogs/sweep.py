"""The dialog of sweeps: a table and a curve of what was measured at every N, and an input to measure more."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widgets import Input

from ...training.session.num_envs_planner import usual_counts
from ...training.telemetry.knee import find_knee, marginal_efficiencies
from ...training.telemetry.records import Phase
from ...training.telemetry.snapshot import Scaling, Snapshot
from ...training.units import Units
from ..drawing.numbers import percent, whole
from ..drawing.panels import BORDER
from ..drawing.styles import (
    ACCENT,
    BRIGHT,
    CYAN,
    FAINT,
    GREEN,
    ORANGE,
    SIGNS,
    SOFT,
    TEXT,
    YELLOW,
    Row,
    bar,
    fit,
    styled,
)
from ..views.number_rows import hint, scaling_curve
from .dialog import SessionDialog

MOST_COLUMNS, MARGIN = 90, 3
LEAST_CURVE, MOST_CURVE = 5, 14
COLUMNS = (("N", 9), ("", 11), ("speedup", 9), ("efficiency", 12), ("marginal", 10))


class SweepDialog(SessionDialog):
    """Shows the measurements at every N, and the progress of a running sweep.

    Args:
        command: Sends a command.
        snapshot: The newest snapshot.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Cancel or close")]

    def __init__(self, command: Callable[..., None], snapshot: Snapshot) -> None:
        counts = " ".join(map(str, usual_counts(snapshot.num_envs)))
        super().__init__(command, snapshot, Input(counts, restrict=r"[\d ,]*", select_on_focus=False))
        self._points = snapshot.scaling

    def show(self, snapshot: Snapshot) -> None:
        """Show a new snapshot. During a restart it contains no measurements, so the last ones stay."""
        self._points = snapshot.scaling or self._points
        super().show(snapshot)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Measure the numbers in the input."""
        counts = [int(number) for number in re.findall(r"\d+", event.value)]
        if counts and not self._measures:
            self.command("sweep", counts=counts)

    def action_leave(self) -> None:
        """Cancel the sweep, else close."""
        if self._measures:
            self.command("cancel_sweep")
        else:
            self.dismiss()

    @property
    def _units(self) -> Units:
        return self.snapshot.description.units

    @property
    def _measures(self) -> bool:
        """Whether the session measures, or restarts with the next N."""
        return self.snapshot.phase in {Phase.BASELINE, Phase.RESTARTING}

    def draw(self) -> None:
        """Draw the measurements and the progress."""
        width, height = max(1, min(MOST_COLUMNS, self.size.width)), max(3, self.size.height - MARGIN)
        rows = self._rows(max(1, width - BORDER), height - 2)
        note = "Esc cancels" if self._measures else "Enter measures these N   Esc closes"
        self.show_bordered("Speed over N", rows, width, note)

    def _rows(self, width: int, height: int) -> list[Row]:
        """The table, the curve if there is room, and the progress or the knee."""
        points = self._points
        foot = [self._progress(width)] if self._measures else hint(self._units.translate(knee_sentence(points)), width)
        room = max(1, height - len(foot))
        rows = table(points, self._units.fps, width)[:room] if points else hint("no measurements yet", width)
        if self.snapshot.baseline is not None and (spare := min(MOST_CURVE, room - len(rows) - 1)) >= LEAST_CURVE:
            rows += [(), *scaling_curve(self.snapshot, width, spare)]
        return [*rows, *foot]

    def _progress(self, width: int) -> Row:
        message, done = str(self.snapshot.state["message"]), float(self.snapshot.state["progress"])
        text = fit(f"{message} ", min(width, len(message) + 1))
        return (styled(text, CYAN), *bar(done, max(0, width - len(text)), CYAN))


def table(points: Sequence[Scaling], rate: str, width: int) -> list[Row]:
    """Return fps, speedup and efficiency at every N, with the knee marked.

    Args:
        points: The measurements, in order of N.
        rate: The name of frames per second.
        width: Columns of text; columns of the table that do not fit are left out.
    """
    ends = accumulate(wide for _, wide in COLUMNS)
    columns = [column for column, end in zip(COLUMNS, ends, strict=True) if end <= width]
    marginal: Sequence[float | None] | None = marginal_efficiencies(points)
    alone, knee = points[0].fps if marginal else None, find_knee(points)
    rows: list[Row] = [tuple(styled(f"{name or rate:>{wide}}", FAINT) for name, wide in columns)]
    for entry, added in zip(points, marginal or [None] * len(points), strict=True):
        count, fps = entry.num_envs, entry.fps
        values = (
            f"{count:,}",
            whole(fps),
            f"{fps / alone:.2f}x" if alone else "N/A",
            percent(100 * fps / alone / count if alone else None),
            percent(added),
        )
        colors = (BRIGHT, TEXT, TEXT, _color(100 * fps / alone / count if alone else None), _color(added))
        cells = zip(values, columns, colors, strict=False)
        mark = styled(f"  {SIGNS.dot} knee" if knee and count == knee.num_envs else "", ACCENT)
        rows.append((*(styled(f"{value:>{wide}}", color) for value, (_, wide), color in cells), mark))
    return rows


def _color(efficiency: float | None) -> str:
    if efficiency is None:
        return SOFT
    return GREEN if efficiency >= 70 else YELLOW if efficiency >= 40 else ORANGE


def knee_sentence(points: Sequence[Scaling]) -> str:
    """Return a sentence about the knee."""
    knee = find_knee(points)
    return knee.sentence if knee else "measure N = 1 and another N to find the knee"
