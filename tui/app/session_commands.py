"""The commands that the user gives to the session: pause, step, speed, record, and the number of environments."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from ...training.limits import MAX_ENVS
from ...training.telemetry.records import Phase
from ...training.units import plural
from ..drawing.styles import TEXT, YELLOW, Row, styled
from .state import AppState, Host

ENDING = {Phase.STOPPING, Phase.ENDED, Phase.FAILED}
LATER = {Phase.STARTING: "will pause at the first step", Phase.RESTARTING: "will pause after the restart"}
"""What a requested pause waits for."""
USUAL_SPEED = 100.0  # steps/s, where the present speed is not known
DEBOUNCE = 0.5  # s after the last of several key presses, which request one restart


class PendingRestart:
    """The number of environments of a restart that was requested and has not happened yet.

    Attributes:
        num_envs: That number, or None if no restart is pending.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.num_envs: int | None = None
        self._clock = clock
        self._due = 0.0

    def request(self, num_envs: int) -> None:
        """Request a restart in half a second; it replaces an earlier request."""
        self.num_envs = min(MAX_ENVS, max(1, num_envs))
        self._due = self._clock() + DEBOUNCE

    @property
    def seconds_left(self) -> float:
        """Seconds until it happens."""
        return max(0.0, self._due - self._clock()) if self.num_envs is not None else 0.0

    def take(self, *, now: bool = False) -> int | None:
        """Return the number and forget it, if its time has come or if `now`; else return None."""
        if self.num_envs is None or (self.seconds_left > 0 and not now):
            return None
        num_envs, self.num_envs = self.num_envs, None
        return num_envs

    def cancel(self) -> bool:
        """Forget the request; return whether there was one."""
        was_pending, self.num_envs = self.num_envs is not None, None
        return was_pending


class SessionCommands:
    """Sends commands. The next snapshots show what they did.

    Args:
        state: What the app shows.
        host: The app.

    Attributes:
        pending: The restart that is about to be requested.
        requested_pause: Whether a pause or its end was requested and has not happened yet; None if neither was.
    """

    def __init__(self, state: AppState, send: Callable[..., None], host: Host) -> None:
        self.pending = PendingRestart()
        self.requested_pause: bool | None = None
        self._state, self._send, self._host = state, send, host

    def send(self, command: str, **arguments: Any) -> None:
        """Send a command, unless the session was lost."""
        if self._state.lost is None:
            self._send(command, **arguments)

    def toggle_pause(self) -> None:
        """Pause, or resume. While a pause is requested, take the request back."""
        paused = self._state.phase is Phase.PAUSED if self.requested_pause is None else self.requested_pause
        self.requested_pause = not paused
        self.send("resume" if paused else "pause")
        self._host.draw_footer()

    def step(self, count: int = 1) -> None:
        """Take steps in all environments, then pause."""
        self.send("step", count=count)

    def finish_episode(self) -> None:
        """Run until the episode of the selected environment ends."""
        self.send("episode", env=self._state.env)

    def record(self) -> None:
        """Record the next episode of the selected environment."""
        self.send("record", env=self._state.env)

    def scale_speed(self, factor: float) -> None:
        """Multiply the speed limit; if there is none, start from the present speed."""
        snapshot = self._state.snapshot
        if snapshot is None:
            return
        limit, running = float(snapshot.state["speed"]), float(snapshot.state["sps"])
        if not limit and factor > 1:
            self._host.notify(f"No speed limit. Press {self._host.key_of('slower')} to set one.", title="Speed")
            return
        wanted = max(1.0, (limit or (running if running > 0 else USUAL_SPEED)) * factor)
        self.send("speed", sps=wanted)
        unit = plural(self._state.units.step)
        remove = f"press {self._host.key_of('unlimited')} to remove the limit"
        self._host.notify(f"at most {wanted:,.0f} {unit}/s; {remove}", title="Speed", timeout=2)

    def remove_speed_limit(self) -> None:
        """Run as fast as possible."""
        self.send("speed", sps=0.0)
        self._host.notify("no limit", title="Speed", timeout=2)

    def add_envs(self, count: int) -> None:
        """Restart with more environments, or with fewer if `count` is negative."""
        self.set_envs((self.pending.num_envs or self._state.num_envs) + count)

    def multiply_envs(self, factor: float) -> None:
        """Restart with `factor` times the environments."""
        self.set_envs(int((self.pending.num_envs or self._state.num_envs) * factor))

    def set_envs(self, num_envs: int) -> None:
        """Restart with this number of environments, unless the user changes it within half a second."""
        if self._state.snapshot is None or self._state.phase in ENDING:
            return
        self.pending.request(num_envs)
        self._host.set_timer(DEBOUNCE, self.restart_if_due)
        self._host.draw_footer()

    def restart_if_due(self, *, now: bool = False) -> bool:
        """Send the pending restart if its time has come, or if `now`; return whether there was one."""
        num_envs = self.pending.take(now=now)
        if num_envs is not None and num_envs != self._state.num_envs:
            self.send("restart", num_envs=num_envs)
        return num_envs is not None

    def note(self) -> Row | None:
        """Return the line that the footer shows while a command is under way."""
        phase, requested = self._state.phase, self.requested_pause
        if requested not in {None, phase is Phase.PAUSED} and not phase.over:
            text = LATER.get(phase, "pausing...") if requested else "resuming..."
            return (styled(f" {text} ", YELLOW, bold=True),)
        if phase is Phase.RESTARTING:
            return (styled(f" restarting with num_envs={self._state.num_envs}... ", YELLOW, bold=True),)
        if phase is Phase.DISCONNECTED and self._state.snapshot is not None:
            return (styled(f" {self._state.snapshot.message} ", YELLOW, bold=True),)
        if self.pending.num_envs is not None:
            text = f" num_envs={self.pending.num_envs:,} in {self.pending.seconds_left:.1f} s "
            return (styled(text, YELLOW, bold=True), styled("  Enter now   Esc cancel   [ ] change", TEXT))
        return None
