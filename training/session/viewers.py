"""The viewers of a session: what they display, and which of them has control."""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ..telemetry.snapshot import ViewRequest

FIRST_VIEWER = 60.0  # s for which a session at least waits for its first viewer, since the app may still be starting


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


class Viewer:
    """One connection to a session.

    Attributes:
        name: Its name, once it has joined.
        number: Its number, from 1; 0 before it has joined.
        look: What it displays; None before its first request.
    """

    def __init__(self) -> None:
        self.name = ""
        self.number = 0
        self.look: ViewRequest | None = None


class Viewers:
    """The open connections. Those that have joined are in a queue, and the first one has control.

    Args:
        linger: Seconds that the session continues without a viewer.

    Attributes:
        linger: The same; a viewer that detaches sets it to infinity.
    """

    def __init__(self, linger: float = math.inf) -> None:
        self.linger = linger
        self._had_viewer = False
        self._last_viewer = time.monotonic()
        self._lock = threading.Lock()
        self._viewers: list[Viewer] = []
        self._queue: list[Viewer] = []
        self._joined = 0

    def __len__(self) -> int:
        """Number of open connections."""
        return len(self._viewers)

    def add(self, viewer: Viewer) -> None:
        """Add a new connection."""
        with self._lock:
            self._had_viewer = True
            self._viewers.append(viewer)

    def remove(self, viewer: Viewer) -> None:
        """Remove a closed connection; if it had control, the next in the queue gets it."""
        with self._lock:
            self._last_viewer = time.monotonic()
            self._viewers.remove(viewer)
            if viewer in self._queue:
                self._queue.remove(viewer)

    @property
    def remaining(self) -> float:
        """Seconds until the session ends because it has no viewer; infinite while there is one."""
        if self._viewers:
            return math.inf
        limit = max(self.linger, 0.0 if self._had_viewer else FIRST_VIEWER)
        return limit - (time.monotonic() - self._last_viewer)

    def join(self, viewer: Viewer, name: str) -> int:
        """Put a viewer at the end of the queue; return its number."""
        with self._lock:
            if viewer not in self._queue:
                self._joined += 1
                viewer.number, viewer.name = self._joined, name
                self._queue.append(viewer)
            return viewer.number

    def take_control(self, viewer: Viewer) -> None:
        """Put a viewer at the front of the queue."""
        self.join(viewer, viewer.name)
        with self._lock:
            self._queue.remove(viewer)
            self._queue.insert(0, viewer)

    @property
    def joined(self) -> int:
        """Number of viewers that have joined."""
        return len(self._queue)

    @property
    def controller(self) -> Viewer | None:
        """The viewer that has control; None before one has joined, while every connection may send commands."""
        return next(iter(self._queue), None)

    def look(self) -> ViewRequest:
        """Return what all viewers together display; the focus is the controller's, if it has one."""
        with self._lock:
            looks = [viewer.look for viewer in (*self._queue, *self._viewers) if viewer.look is not None]
        if not looks:
            return ViewRequest(count=0)
        chosen = next((look for look in looks if look.focus is not None), looks[0])
        focus = chosen.focus
        spans = [(look.first, look.first + look.count) for look in looks if look.count]
        spans += [(look.focus, look.focus + 1) for look in looks if look.focus not in {None, focus}]
        first = min((begin for begin, _ in spans), default=0)
        last = max((end for _, end in spans), default=0)
        detail = any(look.detail for look in looks)
        timeline, large = (any(getattr(look, name) for look in looks) for name in ("timeline", "large"))
        return replace(chosen, first=first, count=last - first, detail=detail, timeline=timeline, large=large)
