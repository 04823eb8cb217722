"""Several sessions on one screen: the ranks of a training, or all sessions of a machine. One of them is selected."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from ...envs import PacError
from ...training.session.host import RunningSession, Starting
from ...training.telemetry.records import Phase
from ...training.telemetry.segment_layout import MALFORMED
from ...training.telemetry.snapshot import Snapshot, ViewRequest
from ...training.units import RETURN
from .connection import SessionConnection

PERIOD, SEARCH_PERIOD = 0.5, 2.0
"""Seconds between two looks at the sessions that are not selected, and between two searches for new ones."""
MOST = 256
LEAST_DIFFERENCE = 0.02
"""The slowest rank is marked if shares of the time spent waiting for it differ by this much."""


@dataclass(frozen=True)
class SeenSession:
    """A session of a group, as it was seen last.

    Attributes:
        label: What to call it before it has published anything: its rank or its run.
        host: Its machine, as the user calls it; empty for this one.
        snapshot: What it published last; None before that.
        over: Whether it has ended.
    """

    label: str
    host: str = ""
    snapshot: Snapshot | None = None
    over: bool = False

    @property
    def machine(self) -> str:
        """Its machine, as the user calls it or as it calls itself."""
        return self.host or (self.snapshot.description.host if self.snapshot is not None else "")

    @property
    def failed(self) -> bool:
        """Whether it has ended, but not as a session ends that is done or that a person has stopped."""
        return self.over and (self.snapshot is None or self.snapshot.phase is not Phase.ENDED)

    @property
    def waiting(self) -> float | None:
        """The share of its time in which it waits for other ranks; None if that is unknown."""
        if self.snapshot is None or self.over or self.snapshot.description.ranks == 1:
            return None
        wall = float(self.snapshot.times["wall"])
        return float(self.snapshot.times["ranks"]) / wall if wall > 0 else None


def slowest(members: Sequence[SeenSession]) -> int | None:
    """Return the index of the rank that the others wait for: the one that waits least. None if no rank is slower."""
    known = {index: share for index, member in enumerate(members) if (share := member.waiting) is not None}
    if len(known) < 2 or max(known.values()) - min(known.values()) < LEAST_DIFFERENCE:
        return None
    return min(known, key=lambda index: known[index])


class GroupMember(NamedTuple):
    """A session to show: how to find or start it, what to call it, and its machine if it is another one."""

    key: object
    label: str
    start: Callable[[], RunningSession]
    host: str = ""


class Owner(Protocol):
    """What has started all sessions of a group."""

    def ended(self, *, over: bool) -> bool:
        """Return whether it has ended; waits for that if all of its sessions are `over`."""

    def detach(self) -> None:
        """Let the sessions continue without the app."""

    def terminate(self) -> None:
        """Have the sessions save and end."""

    def kill(self) -> None:
        """End the sessions at once, without saving."""


class SessionGroup(SessionConnection):
    """Connects the app to several sessions: commands and pictures are those of the selected one.

    Args:
        members: The sessions.
        find: Returns all sessions of now, of which new ones are added.
        owner: What has started the sessions for the app; None if they were found running.
    """

    def __init__(
        self,
        members: Iterable[GroupMember],
        *,
        find: Callable[[], Iterable[GroupMember]] = tuple,
        owner: Owner | None = None,
    ) -> None:
        self.origin = "elsewhere" if owner is None else "process"
        self.selected, self._detached = 0, False
        self._find, self._owner, self.starting = find, owner, Starting()
        self._keys: list[object] = []
        self._connections: list[SessionConnection] = []
        self._seen: tuple[SeenSession, ...] = ()
        self._looked = self._searched = 0.0
        self._add(members)

    def _add(self, members: Iterable[GroupMember]) -> None:
        for member in members:
            if member.key not in self._keys and len(self._keys) < MOST:
                self._keys.append(member.key)
                self._connections.append(SessionConnection(member.start, self.origin))
                self._seen = (*self._seen, SeenSession(member.label, member.host))

    @property
    def target(self) -> SessionConnection:
        return self._connections[self.selected]

    def members(self) -> tuple[SeenSession, ...]:
        """Return all sessions; the same object as before if nothing is due. Only one thread may call this."""
        now = time.monotonic()
        if now - self._searched >= SEARCH_PERIOD:
            self._searched = now
            self._add(self._find())
        if now - self._looked >= PERIOD:
            self._looked = now
            self._seen = tuple(map(_refreshed, self._seen, self._connections))
        return self._seen

    def take(self, look: ViewRequest) -> Snapshot:
        """Return a snapshot of the selected session."""
        return self.target.take(look)

    def call(self, command: str, **arguments: Any) -> dict[str, Any]:
        return self.target.call(command, **arguments)

    def wait(self) -> RunningSession:
        return self.target.wait()

    @property
    def number(self) -> int:  # type: ignore[override]
        """This viewer's number among the viewers of the selected session."""
        return self.target.number

    @property
    def directory(self) -> Path | None:
        """The folder of the selected session."""
        return self.target.directory

    @property
    def detached(self) -> bool:
        """Whether the sessions continue when the app ends."""
        return self._detached

    @detached.setter
    def detached(self, detached: bool) -> None:
        self._detached = detached
        if detached and self._owner is not None:
            self._owner.detach()

    @property
    def started(self) -> bool:
        """Whether any session has started."""
        return any(one.started for one in self._connections)

    @property
    def ended(self) -> bool:
        """Whether what has started the sessions has ended; asked when the app has left."""
        if self._owner is None:
            return True
        # As they are now: one that was seen running would be ended by a signal while it ends by itself.
        now = map(_refreshed, self._seen, self._connections)
        return self._owner.ended(over=all(member.over for member in now))

    def exit_code(self) -> int | None:
        return self.target.exit_code()

    def stop_start(self) -> bool:
        """Return false: the processes of ranks start their sessions."""
        return False

    def kill(self) -> None:
        """End all sessions at once, if the app has started them; else the selected one."""
        self._owner.kill() if self._owner is not None else self.target.kill()

    def terminate(self) -> None:
        """Have all sessions that the app has started save and end."""
        if self._owner is not None:
            self._owner.terminate()

    def close(self) -> None:
        """Close all connections."""
        for one in self._connections:
            one.close()


def _refreshed(member: SeenSession, connection: SessionConnection) -> SeenSession:
    """Return what is to be seen of a session now; it is over if it has ended or cannot be read."""
    if not connection.started:
        return replace(member, over=connection.failed)
    try:
        snapshot = connection.take(ViewRequest(count=0, curves=(RETURN.name,)))
    except (PacError, *MALFORMED):
        return replace(member, over=True)
    gone = connection.exit_code() is not None
    return replace(member, snapshot=snapshot, over=gone or snapshot.phase.over)
