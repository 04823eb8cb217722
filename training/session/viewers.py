"""Who looks at a live training, at what, and which of them controls it."""

from __future__ import annotations

import math
import threading
import time
from dataclasses import replace

from ..telemetry.snapshot import ViewRequest

FIRST_VIEWER = 60.0  # s that a session waits at least for its first viewer, who may still be starting


class Viewer:
    """One connection, as the training sees it.

    Attributes:
        name: How it calls itself, once it has joined.
        number: Its number, from 1; 0 before it has joined.
        look: What it looks at; None before it said.
    """

    def __init__(self) -> None:
        self.name = ""
        self.number = 0
        self.look: ViewRequest | None = None


class Viewers:
    """The open connections. Those that have joined stand in a row, and the first of them controls.

    Args:
        linger: Seconds that the training goes on without a viewer.

    Attributes:
        linger: The same; a viewer that detaches sets it to infinity.
    """

    def __init__(self, linger: float = math.inf) -> None:
        self.linger = linger
        self._met = False
        self._last_viewer = time.monotonic()
        self._lock = threading.Lock()
        self._viewers: list[Viewer] = []
        self._row: list[Viewer] = []
        self._joined = 0

    def __len__(self) -> int:
        """Number of open connections."""
        return len(self._viewers)

    def enter(self, viewer: Viewer) -> None:
        """Note a new connection."""
        with self._lock:
            self._met = True
            self._viewers.append(viewer)

    def leave(self, viewer: Viewer) -> None:
        """Note that a connection was closed; if it controlled, the next in the row does now."""
        with self._lock:
            self._last_viewer = time.monotonic()
            self._viewers.remove(viewer)
            if viewer in self._row:
                self._row.remove(viewer)

    @property
    def remaining(self) -> float:
        """Seconds until the training ends for lack of a viewer; infinite while there is one."""
        if self._viewers:
            return math.inf
        limit = max(self.linger, 0.0 if self._met else FIRST_VIEWER)
        return limit - (time.monotonic() - self._last_viewer)

    def join(self, viewer: Viewer, name: str) -> int:
        """Put a viewer at the end of the row; return its number."""
        with self._lock:
            if viewer not in self._row:
                self._joined += 1
                viewer.number, viewer.name = self._joined, name
                self._row.append(viewer)
            return viewer.number

    def take_control(self, viewer: Viewer) -> None:
        """Put a viewer at the front of the row."""
        self.join(viewer, viewer.name)
        with self._lock:
            self._row.remove(viewer)
            self._row.insert(0, viewer)

    @property
    def joined(self) -> int:
        """Number of viewers in the row."""
        return len(self._row)

    @property
    def controller(self) -> Viewer | None:
        """The viewer that controls; None as long as nobody has joined, and then anybody may."""
        return next(iter(self._row), None)

    def look(self) -> ViewRequest:
        """Return what all of them look at together; the focus is the controller's, if it has one."""
        with self._lock:
            looks = [viewer.look for viewer in (*self._row, *self._viewers) if viewer.look is not None]
        if not looks:
            return ViewRequest(count=0)
        chosen = next((look for look in looks if look.focus is not None), looks[0])
        focus = chosen.focus
        spans = [(look.first, look.first + look.count) for look in looks if look.count]
        spans += [(look.focus, look.focus + 1) for look in looks if look.focus not in {None, focus}]
        first = min((begin for begin, _ in spans), default=0)
        last = max((end for _, end in spans), default=0)
        detail = any(look.detail for look in looks)
        return replace(chosen, first=first, count=last - first, detail=detail)
