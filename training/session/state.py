"""What a session is doing and what its viewers display. Several threads set these values; one thread publishes them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ...envs.unknown import UNKNOWN
from ..telemetry.records import Phase
from ..telemetry.snapshot import ViewRequest


@dataclass
class SessionState:
    """What a session is doing. The attributes have the names of the telemetry block `state`.

    Attributes:
        phase: What the session is doing.
        message: The same in words, for people.
        started: When the session started, in s since the epoch.
        backend: Name of the backend.
        device: Where the policy runs.
        target_envs: The number of environments that a restart leads to.
        speed: Limit of the environment steps per second, all environments together; 0 is no limit.
        progress: How much is done of what `message` names, 0 to 1; NaN if unknown.
        limit: How much of the run's limit is used up, 0 to 1; NaN without a limit.
    """

    phase: Phase = Phase.STARTING
    message: str = ""
    started: float = 0.0
    backend: str = ""
    device: str = ""
    target_envs: int = 0
    speed: float = 0.0
    progress: float = UNKNOWN
    limit: float = UNKNOWN

    @property
    def ending(self) -> bool:
        """Whether the session is ending or has ended."""
        return self.phase >= Phase.STOPPING


@dataclass
class View:
    """What all viewers together display. The threads of the viewers replace `look` as a whole.

    Attributes:
        look: What they display.
        has_viewers: Whether there are any.
    """

    look: ViewRequest = field(default_factory=ViewRequest)
    has_viewers: bool = False

    def focus(self, num_envs: int) -> int | None:
        """Return the environment in focus; None if there is no such environment, or nobody watches."""
        focus = self.look.focus
        return focus if self.has_viewers and focus is not None and focus < num_envs else None

    def displayed(self, num_envs: int) -> NDArray[np.bool_]:
        """Return which environments are displayed, `(num_envs,)`."""
        look, displayed = self.look, np.zeros(num_envs, np.bool_)
        displayed[look.first : look.first + look.count] = self.has_viewers
        if (focus := self.focus(num_envs)) is not None:
            displayed[focus] = True
        return displayed
