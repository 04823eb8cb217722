"""What the parts of the app share: the state that they show, and the app as they need it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

from ...envs import PacError
from ...training.telemetry.records import Phase
from ...training.telemetry.snapshot import Snapshot
from ...training.units import STEPPED, Units
from ..connections.session_group import SeenSession
from ..curve_options import CurveOptions


@dataclass
class AppState:
    """The session as of its newest snapshot, and what of it the user has selected.

    Attributes:
        snapshot: The newest snapshot; None before the first.
        starting: What the session does before the first snapshot, if it says so.
        lost: The error if the session could not start or its process has died.
        runs_script: Whether this program runs the script whose session is shown.
        end: How that script has ended; empty while it runs.
        env: The environment, from 0.
        seat: The seat in it, from 0.
        curves: Axes, cursor, range and choice of the curves.
        replay: Whether the session is a recorded episode.
        lists_episodes: Whether the list of episodes is opened with the next snapshot, as after a replay.
        last_event: The number of the newest event that was shown.
        members: All sessions, if several are shown.
        selected: The index of the session among them.
    """

    snapshot: Snapshot | None = None
    starting: str = ""
    lost: PacError | None = None
    runs_script: bool = False
    end: str = ""
    view: str = "summary"
    env: int = 0
    seat: int = 0
    curves: CurveOptions = field(default_factory=CurveOptions)
    replay: bool = False
    lists_episodes: bool = False
    last_event: int = 0
    members: tuple[SeenSession, ...] = ()
    selected: int = 0

    @property
    def phase(self) -> Phase:
        """What the session is doing."""
        if self.end:
            return Phase.ENDED
        if self.lost is not None:
            return Phase.FAILED
        return self.snapshot.phase if self.snapshot is not None else Phase.STARTING

    @property
    def over(self) -> bool:
        """Whether what is shown has ended: a script ends with its process, whatever becomes of its sessions."""
        return bool(self.end) if self.runs_script else self.phase.over

    def idle(self, now: float) -> float:
        """Return for how many seconds a running script has stepped nothing; infinity after its end, 0 for others."""
        if self.end:
            return math.inf
        stepping = self.phase is Phase.RUNNING or self.phase.over
        if not self.runs_script or self.snapshot is None or not stepping:
            return 0.0
        return max(0.0, now - float(self.snapshot.state["now"]))

    @property
    def num_envs(self) -> int:
        """Number of environments; during a restart, the new number."""
        if self.snapshot is None:
            return 1
        restarting = self.snapshot.phase is Phase.RESTARTING
        return int(self.snapshot.state["target_envs"]) if restarting else self.snapshot.num_envs

    @property
    def units(self) -> Units:
        """The words of the session's trainer."""
        return self.snapshot.description.units if self.snapshot is not None else STEPPED

    def current(self) -> Snapshot | None:
        """Return the newest snapshot. If the session was lost or its script has ended, the snapshot says so."""
        if self.snapshot is not None and self.runs_script and self.phase.over:
            return replace(self.snapshot, phase=Phase.ENDED, message=self.end)
        if self.snapshot is None or self.lost is None:
            return self.snapshot
        return replace(self.snapshot, phase=Phase.FAILED, message=f"{self.lost.title}: {self.lost}")

    def select(self, index: int) -> None:
        """Select another session, of which what was seen last is shown first."""
        self.selected, self.snapshot, self.lost = index, self.members[index].snapshot, None
        self.seat = self.last_event = 0
        self.env = min(self.env, max(0, self.num_envs - 1))

    def turn_to(self, number: int) -> None:
        """Note that the snapshot is of another session of the script."""
        self.selected, self.lost = number, None
        self.seat = self.last_event = 0
        self.env = min(self.env, max(0, self.num_envs - 1))

    def controlled_by_other(self, viewer: int) -> str:
        """Return the name of the viewer that has control, or an empty text if that is `viewer` or nobody."""
        if self.snapshot is None or self.phase.over:
            return ""
        audience = self.snapshot.audience
        return "" if audience["controller"] in {0, viewer} else str(audience["name"])


class Host(Protocol):
    """The app, as its parts need it."""

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: Literal["information", "warning"] = "information",
        timeout: float | None = None,
    ) -> None:
        """Show a message for `timeout` seconds."""

    def refresh_now(self) -> None:
        """Draw everything and request a snapshot."""

    def draw_footer(self) -> None:
        """Draw the last lines of the screen, which show what is under way."""

    def set_timer(self, delay: float, callback: Callable[[], Any]) -> object:
        """Call a function after `delay` seconds."""

    def key_of(self, command: str) -> str:
        """Return a command's key as the app shows it."""

    def exit(self, result: int, return_code: int) -> None:
        """Leave the app."""
