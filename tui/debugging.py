"""What a debugger adds to the app: looking closely at one environment, and going back in time while paused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..training.telemetry.moments import Moment, MomentSource, RecentSteps
from ..training.telemetry.records import Notice, Phase
from ..training.telemetry.snapshot import Snapshot, ViewRequest
from .commanded import CommandedApp
from .connection import SessionConnection
from .dialogs.breakpoints import BreakpointsDialog
from .dialogs.manual_play import ManualPlay
from .dialogs.sweep import SweepDialog
from .past import snapshot_at

FAR = 10


class DebuggedApp(CommandedApp):
    """Keeps what is looked at closely, and when.

    Attributes:
        inspecting: Whether all that is known of an environment is shown.
        seat: Whose there, from 0.
        back: How many steps before the newest it is shown.
        begun: If that step ended an episode: whether the next one's first state is shown instead of the last state.
        moment: What is known of the step that was gone to, or how far finding it out is.
    """

    def __init__(self, connection: SessionConnection) -> None:
        super().__init__(connection)
        self.inspecting = False
        self.seat = 0
        self.back = 0
        self.begun = False
        self._now = (0, 0)
        self._hits = 0
        self._past: Moment | None = None
        self.moment: Moment | None = None
        self._shown: tuple[object, ...] = ()

    @property
    def travels(self) -> bool:
        """Whether one environment is shown that stands still, so that the arrow keys go through time."""
        return False

    def action_inspect(self) -> None:
        """Show all that is known of the environment, or no longer."""
        self.inspecting = not self.inspecting
        self.hurry()

    def choose_seat(self, by: int) -> None:
        """Look at another seat of the environment, round and round."""
        players = self.snapshot.description.players if self.snapshot is not None else 1
        if players > 1:
            self.seat = (self.seat + by) % players
            self.hurry()

    def action_travel(self, by: int) -> None:
        """Go some steps back, or on; one at a time, past both states that a step which ended an episode led to."""
        line = self.snapshot.line if self.snapshot is not None else None
        if not self.travels or line is None:
            return
        if by == 1 and self._ended(line, self.back) and not self.begun:
            self.begun = True
        elif by == -1 and self._ended(line, self.back) and self.begun:
            self.begun = False
        else:
            self.back = min(len(line.ends), max(0, self.back - by))
            self.begun = by == -1
        self.hurry()

    def _ended(self, line: RecentSteps, back: int) -> bool:
        """Whether a step ended an episode and began the next one."""
        two = self.snapshot is not None and self.snapshot.description.begins_at_once
        return two and back < len(line.ends) and bool(line.ends[len(line.ends) - 1 - back])

    @property
    def _last(self) -> int:
        """The newest step, if the last state of an episode is to be shown, else 0: who plays sees what comes next."""
        line = self.snapshot.line if self.snapshot is not None else None
        if line is None or self.begun or not self.travels or isinstance(self.screen, ManualPlay):
            return 0
        return line.now if self._ended(line, self.back) else 0

    def action_breakpoints(self) -> None:
        """Show the breakpoints, to add, switch or remove one."""
        if self.snapshot is not None:
            self.push_screen(BreakpointsDialog(self.command, self.snapshot))

    def action_take_over(self) -> None:
        """Play the environment by hand, while all stand still between two actions."""
        if self.snapshot is None:
            return
        if self.phase is not Phase.PAUSED:
            self.command("pause")
        self.back, self.begun = 0, False
        self.push_screen(ManualPlay(self.command, self.env, self.seat, self.snapshot))

    def action_sweep(self) -> None:
        """Show what was measured at every N, to measure others."""
        if self.snapshot is not None:
            self.push_screen(SweepDialog(self.command, self.snapshot))

    def point(self, snapshot: Snapshot) -> int | None:
        """Return the environment that a breakpoint has stopped the training at since the last look, if one has."""
        hits = int(snapshot.breakpoints["hits"].sum())
        before, self._hits = self._hits, hits
        stopped = np.flatnonzero(snapshot.environments["notice"] == Notice.BREAK)
        return int(stopped[0]) if hits > before and len(stopped) else None

    def action_record(self) -> None:
        """Record the next episode of the environment that is looked at."""
        if self.units.episodes:
            self.command("record", env=self.env)
        else:
            self.notify(f"a {self.units.environment} plays no episodes", severity="warning")

    def closely(self, look: ViewRequest) -> ViewRequest:
        """Return what a view wants to see, with what the debugger wants of it."""
        if self.inspecting and look.focus is None and look.count:
            look = replace(look, focus=self.env)
        if look.focus is None:
            return look
        detail = self.inspecting or self.seat > 0
        return replace(look, seat=self.seat, detail=detail, back=self.back if self.travels else 0, last=self._last)

    def moved(self, snapshot: Snapshot) -> bool:
        """Whether a session that stands still has another moment to show than the last time."""
        before, known = self._shown, self.moment
        self._shown = () if known is None else (known.env, known.seat, known.step, known.now, known.source, known.begun)
        return snapshot.phase is Phase.PAUSED and self._shown != before

    def as_of_then(self, snapshot: Snapshot) -> Snapshot:
        """Return the snapshot as of the state that was gone back to; the newest one goes on from where it was."""
        line = snapshot.line
        here = (self.env, 0 if line is None else line.now)
        if snapshot.phase is not Phase.PAUSED or (line is not None and here != self._now):
            self.back = self.back if self._now[1] == here[1] and snapshot.phase is Phase.PAUSED else 0
            self.begun, self._now = False, here
        moment = self.moment = snapshot.moment
        last = self._last
        if not self.travels or not (self.back or last):
            self._past = None
            return snapshot_at(snapshot, moment) if moment is not None and (moment.seat or moment.begun) else snapshot
        if moment is not None and self._is_wanted(moment, last):
            self._past = moment
        if self._past is None or (self._past.env, self._past.seat) != (self.env, self.seat):
            return snapshot
        if not self.back and not self._past.shown:  # there is another board to show
            return snapshot
        return snapshot_at(snapshot, self._past)

    def _is_wanted(self, moment: Moment, last: int) -> bool:
        """Whether a moment is of the state that is looked at, and found out."""
        two = self.snapshot is not None and self.snapshot.description.begins_at_once
        ends = two and bool(moment.values["end"])
        wanted = moment.back == self.back and ends == (last > 0)
        return wanted and last in {0, moment.now} and moment.source is not MomentSource.WORKING
