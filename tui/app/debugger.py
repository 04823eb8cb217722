"""The debugger: inspects one environment, and goes back in time while the training is paused."""

from __future__ import annotations

import socket
import time
from collections import OrderedDict
from dataclasses import replace

import numpy as np

from ...training.telemetry.moments import Moment, MomentSource, RecentSteps
from ...training.telemetry.records import Notice, Phase
from ...training.telemetry.snapshot import Snapshot, ViewRequest
from .past import newest_known, snapshot_at
from .state import AppState, Host

MOST_KEPT = 64
"""Environments whose newest step is kept."""


class EnvironmentDebugger:
    """Knows which step of the selected environment is shown, and in how much detail.

    A step that ends an episode leads to two states: the last state of that episode, and the first state of the next.

    Attributes:
        inspecting: Whether everything known of the environment is shown.
        saliency: Whether the inspector shows what the policy's choice depends on.
        playing: Whether the user plays the environment by hand.
        back: Number of steps between the shown step and the newest.
        after_end: Whether the first state of the next episode is shown, if the shown step ended an episode.
        moment: The record of the shown step, or the progress of computing it.
        age: Seconds since what is shown of the inspected environment was known, if its last step is not known yet.

    Args:
        state: What the app shows.
        host: The app.
    """

    def __init__(self, state: AppState, host: Host) -> None:
        self.inspecting = False
        self.saliency = False
        self.playing = False
        self.back = 0
        self.after_end = False
        self.moment: Moment | None = None
        self.age = 0.0
        self._kept: OrderedDict[tuple[int, int], tuple[Moment, float]] = OrderedDict()
        self._generation = 0
        self._state, self._host = state, host
        self._newest = (0, 0)
        self._hits = 0
        self._past: Moment | None = None
        self._drawn: tuple[object, ...] = ()

    def reset(self) -> None:
        """Show the newest step of another session."""
        self.back, self.after_end, self.moment, self._past = 0, False, None, None
        self._newest, self._hits, self._drawn = (0, 0), 0, ()
        self._kept.clear()
        if self._state.snapshot is not None:
            self.new_break(self._state.snapshot)

    @property
    def can_travel(self) -> bool:
        """Whether a paused environment is shown, so that the arrow keys go through time."""
        paused = self._state.phase is Phase.PAUSED and self._state.units.episodes
        return paused and self._state.view == "environment"

    def inspect(self, *, on: bool) -> None:
        """Show everything known of the environment, or stop showing it."""
        self.inspecting = on
        self._host.refresh_now()

    def show_saliency(self) -> None:
        """Show what the policy's choice depends on, in the inspector, or stop showing it."""
        self.saliency = not (self.saliency and self.inspecting)
        self.inspecting = self.inspecting or self.saliency
        self._host.refresh_now()

    def select_seat(self, by: int) -> None:
        """Select the next or previous seat of the environment; after the last comes the first."""
        snapshot = self._state.snapshot
        players = snapshot.description.players if snapshot is not None else 1
        if players > 1:
            self._state.seat = (self._state.seat + by) % players
            self._host.refresh_now()

    def travel(self, by: int) -> None:
        """Go `by` steps forward, or back if it is negative. A single step visits both states after an episode's end."""
        line = self._line
        if not self.can_travel or line is None:
            return
        ended = self._ended_episode(line)
        if abs(by) == 1 and ended and self.after_end == (by < 0):
            self.after_end = by > 0
        else:
            self.back = min(len(line.ends), max(0, self.back - by))
            self.after_end = by == -1
        self._host.refresh_now()

    def go_to_newest(self) -> bool:
        """Show the newest step; return whether an earlier one was shown."""
        if not (self.can_travel and self.back):
            return False
        self.back, self.after_end = 0, False
        self._host.refresh_now()
        return True

    def play(self) -> None:
        """Show the newest step, from which the user plays by hand."""
        self.playing, self.back, self.after_end = True, 0, False

    def stop_playing(self) -> None:
        """Note that the user no longer plays."""
        self.playing = False

    @property
    def shows_an_end(self) -> bool:
        """Whether the last state of an episode is shown, which the next episode has replaced in the environment."""
        line = self._line
        ended = line is not None and self.can_travel and self._ended_episode(line)
        return ended and not self.after_end and not self.playing

    @property
    def in_past(self) -> bool:
        """Whether an earlier step is shown."""
        return self.can_travel and self.back > 0

    @property
    def why_no_copy(self) -> str:
        """Why the steps around the shown one cannot be played again in a copy; empty if they can, as far as known."""
        snapshot, moment = self._state.snapshot, self.moment
        if snapshot is None or self._state.phase is not Phase.PAUSED:
            return "pause first"
        if not self.can_travel:
            return "open an environment first"
        if snapshot.description.host not in {"", socket.gethostname()}:
            return f"the session runs on {snapshot.description.host}: attach there"
        if self.shows_an_end:
            return "this is the end of an episode: go one step back or forward"
        if self.back and (moment is None or moment.back != self.back or moment.source is MomentSource.WORKING):
            return "this step is still being replayed"
        if self.back and moment is not None and moment.source is not MomentSource.REBUILT:
            return moment.note or "this step cannot be replayed"
        return ""

    @property
    def _line(self) -> RecentSteps | None:
        return self._state.snapshot.line if self._state.snapshot is not None else None

    @property
    def _has_two_states(self) -> bool:
        """Whether a step that ends an episode also leads to the first state of the next one."""
        return self._state.snapshot is not None and self._state.snapshot.description.begins_at_once

    def _ended_episode(self, line: RecentSteps) -> bool:
        """Whether the shown step ended an episode and started the next one."""
        return self._has_two_states and self.back < len(line.ends) and bool(line.ends[len(line.ends) - 1 - self.back])

    @property
    def _last(self) -> int:
        """The newest step if the last state of an episode is to be shown, else 0. Who plays sees the next episode."""
        line = self._line
        if line is None or self.after_end or not self.can_travel or self.playing:
            return 0
        return line.now if self._ended_episode(line) else 0

    def extend(self, look: ViewRequest) -> ViewRequest:
        """Return what a view requests together with what the debugger requests."""
        if self.inspecting and look.focus is None and look.count:
            look = replace(look, focus=self._state.env)
        if look.focus is None:
            return look
        seat, back = self._state.seat, self.back if self.can_travel else 0
        look = replace(look, seat=seat, detail=self.inspecting or seat > 0, back=back, last=self._last)
        return replace(look, saliency=self.saliency and self.inspecting)

    def new_break(self, snapshot: Snapshot) -> int | None:
        """Return the environment at which a breakpoint has paused the training since the last call, if any."""
        hits = int(snapshot.breakpoints["hits"].sum())
        before, self._hits = self._hits, hits
        stopped = np.flatnonzero(snapshot.environments["notice"] == Notice.BREAK)
        return int(stopped[0]) if hits > before and len(stopped) else None

    def moment_changed(self, snapshot: Snapshot) -> bool:
        """Return whether a paused session has another moment to show than at the last call."""
        before, known = self._drawn, self.moment
        self._drawn = () if known is None else (known.env, known.seat, known.step, known.now, known.source, known.begun)
        return snapshot.phase is Phase.PAUSED and self._drawn != before

    def as_shown(self, snapshot: Snapshot) -> Snapshot:
        """Return the snapshot as of the shown step. If the session has stepped since, that is the newest step."""
        self._follow(snapshot)
        moment = self.moment = snapshot.moment
        last = self._last
        if not self.can_travel or not (self.back or last):
            self._past = None
            snapshot = self._with_known(snapshot)
            return snapshot_at(snapshot, moment) if moment is not None and (moment.seat or moment.begun) else snapshot
        if moment is not None and self._is_shown(moment, last):
            self._past = moment
        if self._past is None or (self._past.env, self._past.seat) != (self._state.env, self._state.seat):
            return snapshot
        if not self.back and not self._past.shown:  # the last board is not stored, so the newest is shown
            return snapshot
        return snapshot_at(snapshot, self._past)

    def _with_known(self, snapshot: Snapshot) -> Snapshot:
        """Keep the newest step of the shown environment. If it is not known yet, show what is: an update may last."""
        if snapshot.generation != self._generation:
            self._kept.clear()
            self._generation = snapshot.generation
        env, now, self.age = snapshot.focus, time.monotonic(), 0.0
        if env is None or env >= len(snapshot.environments):
            return snapshot
        if snapshot.moment is not None:
            self._kept[env, snapshot.seat] = snapshot.moment, now
            self._kept.move_to_end((env, snapshot.seat))
            if len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
            return snapshot
        if not self.inspecting or (env, snapshot.seat) not in self._kept:
            known = self.inspecting and not snapshot.seat
            return replace(snapshot, moment=newest_known(snapshot, env)) if known else snapshot
        kept, then = self._kept[env, snapshot.seat]
        self.age = now - then
        return replace(snapshot, moment=kept)

    def _follow(self, snapshot: Snapshot) -> None:
        """Show the newest step if the session runs or has stepped."""
        paused, line = snapshot.phase is Phase.PAUSED, snapshot.line
        newest = (self._state.env, 0 if line is None else line.now)
        if not paused or (line is not None and newest != self._newest):
            self.back = self.back if self._newest[1] == newest[1] and paused else 0
            self.after_end, self._newest = False, newest

    def _is_shown(self, moment: Moment, last: int) -> bool:
        """Whether a moment is complete and of the shown state."""
        is_last = self._has_two_states and bool(moment.values["end"])
        return (
            moment.back == self.back
            and is_last == (last > 0)
            and last in {0, moment.now}
            and moment.source is not MomentSource.WORKING
        )
