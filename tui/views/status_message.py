"""The message in place of boards while there are none: starting, restarting, stopping, or an error."""

from __future__ import annotations

import math
from pathlib import Path

from ...training.telemetry.records import Phase
from ...training.telemetry.snapshot import Snapshot
from ..drawing.numbers import clock, percent
from ..drawing.styles import ACCENT, BRIGHT, FAINT, RED, SIGNS, SOFT, TEXT, Row, bar, blank, styled, width_of
from ..drawing.widgets import TextLines
from ..keys import shown
from .base import ViewUpdate
from .number_rows import wrapped

SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
HEADS = {
    Phase.STARTING: "starting",
    Phase.RESTARTING: "restarting",
    Phase.STOPPING: "stopping",
    Phase.FAILED: "the session has failed",
}
NARROW = 64


class StatusMessage(TextLines):
    """Shows what the session is doing while there are no boards. It is hidden otherwise."""

    def take(self, update: ViewUpdate) -> bool:
        """Show the message if the session has no boards; return whether it is shown."""
        quiet = update.snapshot.phase in HEADS and not failed_with_boards(update.snapshot)
        self.display = quiet
        if quiet and self.size:
            self.show(centered(words(update.snapshot, update.now, min(NARROW, self.size.width - 2)), *self.size))
        return quiet


def words(snapshot: Snapshot, now: float, width: int) -> list[Row]:
    """Return what the session is doing, its progress, and for how long."""
    phase, state = snapshot.phase, snapshot.state
    head = HEADS[phase]
    if phase is Phase.FAILED:
        return failure(snapshot, width)
    seconds = max(0.0, now - float(state["started"])) if phase is Phase.STARTING else 0.0
    rows: list[Row] = [(styled(head, BRIGHT, bold=True),), ()]
    rows += [(styled(line, SOFT),) for line in wrapped(snapshot.message, width)]
    progress = float(state["progress"])
    if math.isfinite(progress):
        rows += [(), (*bar(progress, min(32, width - 8), ACCENT), styled(f" {percent(100 * progress)}", TEXT))]
    if seconds:
        turn = SPINNER[int(now * 8) % len(SPINNER)]
        rows += [(), (styled(f"{turn} {clock(seconds)}", FAINT),)]
    return rows


def failed_with_boards(snapshot: Snapshot) -> bool:
    """Return whether a session has failed after its first step, so that there are boards to show."""
    return snapshot.phase is Phase.FAILED and snapshot.state["steps"] > 0


def failure(snapshot: Snapshot, width: int) -> list[Row]:
    """Return the error and what the user can do, in place of boards."""
    return [
        (styled(HEADS[Phase.FAILED], RED, bold=True),),
        (),
        *((styled(line, TEXT),) for line in wrapped(snapshot.message, width)),
        (),
        *((styled(line, FAINT),) for line in wrapped(_advice(snapshot), width)),
    ]


def failure_rows(snapshot: Snapshot, width: int, height: int) -> list[Row]:
    """Return the error and what the user can do, below boards, in at most `height` lines."""
    head = f"{SIGNS.bad} {HEADS[Phase.FAILED]}: {snapshot.message}"
    rows: list[Row] = [*((styled(f" {line}", RED),) for line in wrapped(head, width - 2))]
    return [*rows, *((styled(f"   {line}", FAINT),) for line in wrapped(_advice(snapshot), width - 4))][:height]


def _advice(snapshot: Snapshot) -> str:
    about, leave = snapshot.description, f"Press {shown('quit')} to leave."
    if about.watched:
        return f"{shown('view.logs')} shows its output. {leave}"
    if not about.folder or not Path(about.folder).is_dir():  # a session that failed to start leaves no folder
        return leave
    return f"Output: session.log in the folder of the run {about.run}. {leave}"


def centered(rows: list[Row], width: int, height: int) -> list[Row]:
    """Return rows centered in `width` columns and `height` lines."""
    above = max(0, (height - len(rows)) // 2)
    return [*(() for _ in range(above)), *((blank((width - width_of(row)) // 2), *row) for row in rows)]
