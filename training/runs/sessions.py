"""The sessions of this user in the runtime directory: running ones, and those that died recently."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...backends.system.segment import Segment, directories, is_owned, owner_of
from ...envs import BadParameter, PacError, UnknownName
from ...envs.entries import FolderEntry
from ..telemetry.blocks import TelemetryReader
from ..telemetry.segment_layout import MALFORMED, OtherVersion, read_header
from ..telemetry.snapshot import Snapshot, ViewRequest, take_snapshot
from .folder import LAST, LATEST, watched_runs

UNKNOWN_EXIT_CODE = 255
"""The exit code of a session that another process started."""


@dataclass(frozen=True)
class FoundSession:
    """A session at the time at which it was found.

    Attributes:
        directory: The directory of its telemetry and socket.
        pid: Its process.
        alive: Whether that process is running.
        snapshot: What it published last.
    """

    directory: Path
    pid: int
    alive: bool
    snapshot: Snapshot

    @property
    def name(self) -> str:
        """The run's name."""
        return self.snapshot.description.run

    @property
    def rank(self) -> int:
        """Its number among the processes of its training, from 0."""
        return self.snapshot.description.rank

    @property
    def training(self) -> str:
        """The name that all ranks of its training have in common."""
        return self.name.removesuffix(f".rank{self.rank}")

    @property
    def group(self) -> tuple[str, int]:
        """A key that all ranks of its training share, and no other session has, even one of the same name."""
        return self.training, 0 if self.snapshot.description.ranks > 1 else self.pid


class AmbiguousSession(BadParameter):
    """Several sessions have a name, or names that begin with it."""

    title = "Several sessions"

    def __init__(self, name: str, found: Sequence[FoundSession]) -> None:
        some = ", ".join(f"{session.name} (process {session.pid})" for session in found)
        super().__init__(f"{name!r} may be {some}: give the process, as in `pac-tui attach {found[-1].pid}`")
        self.sessions = found


class ForeignSession:
    """A session that the app shows but did not start, and so leaves running."""

    def poll(self) -> int | None:
        """Return the exit code; None while it runs."""
        return None

    def report(self) -> dict[str, Any]:
        """Return nothing: the report goes to the process that started the session."""
        return {}

    def terminate(self) -> None:
        """Leave it running."""

    def kill(self) -> None:
        """Leave it running."""


class ConnectedSession(ForeignSession):
    """A session that another process started, as an app uses it.

    Attributes:
        directory: The directory of its telemetry and socket.
        pid: Its process.
    """

    def __init__(self, found: FoundSession) -> None:
        self.directory, self.pid = found.directory, found.pid
        self._watched = found.snapshot.description.watched
        self._reader = TelemetryReader(found.directory)

    def ended(self) -> Snapshot | None:
        """Return its last snapshot if it has ended, else None."""
        last = take_snapshot(self._reader, ViewRequest(count=0))
        return last if last.phase.over else None

    def poll(self) -> int | None:
        """Return None while it is open and its process is running, then `UNKNOWN_EXIT_CODE`."""
        return None if self.directory.exists() and is_owned(self.directory) else UNKNOWN_EXIT_CODE

    def kill(self) -> None:
        """Kill its process, unless that is a watched script or on another machine."""
        pid = owner_of(self.directory)
        if not self._watched and pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def read_session(directory: Path, pid: int, *, alive: bool) -> FoundSession | None:
    """Return the session in `directory`; None if its telemetry is missing, damaged or of another version."""
    try:
        return _read(directory, pid, alive=alive)
    except (PacError, *MALFORMED):
        return None


def open_telemetry(directory: Path) -> TelemetryReader | None:
    """Return a reader of the session in `directory`; None if that has no telemetry of this version."""
    try:
        return TelemetryReader(directory)
    except (PacError, *MALFORMED):
        return None


def _last_session(folder: Path) -> FoundSession | None:
    """Return the session whose last telemetry is in a run's folder; None if there is none."""
    try:
        return _read(folder / LAST, 0, alive=False) if FolderEntry(folder, LAST).is_folder else None
    except OtherVersion:
        raise
    except (PacError, *MALFORMED):
        return None


def _read(directory: Path, pid: int, *, alive: bool) -> FoundSession:
    return FoundSession(directory, pid, alive, take_snapshot(TelemetryReader(directory), ViewRequest(count=0)))


def raw_description(directory: Path) -> Mapping[str, Any]:
    """Return the description of the session in `directory` as it was written, without checks; empty if it has none.

    Unlike `read_session`, this needs only NumPy.
    """
    for path in sorted(directory.glob("telemetry.*"), reverse=True):
        with contextlib.suppress(PacError, *MALFORMED):
            return dict(read_header(Segment.attach(path))["description"])
    return {}


def running_names() -> set[str]:
    """Return the names of the runs of all running sessions."""
    return {str(raw_description(path).get("run", "")) for path, _, alive in directories() if alive}


def sessions() -> list[FoundSession]:
    """Return the sessions in the runtime directory, the newest training last, the ranks of a training in order."""
    found = [read_session(path, pid, alive=alive) for path, pid, alive in directories()]
    known = sorted(filter(None, found), key=lambda session: float(session.snapshot.state["started"]))
    trainings = list(dict.fromkeys(session.group for session in known))
    return sorted(known, key=lambda session: (trainings.index(session.group), session.rank))


def ranks_of(found: FoundSession) -> list[FoundSession]:
    """Return a session and those on this machine that train together with it, by rank."""
    if found.snapshot.description.ranks == 1 or not found.alive:
        return [found]
    others = [one for one in sessions() if one.alive and one.group == found.group and one.pid != found.pid]
    return sorted([found, *others], key=lambda one: one.rank)


def find_session(name: str, runs_dir: Path) -> FoundSession:
    """Return the session with a name, a beginning of its name, or a process id; `latest` is the newest running one.

    Running sessions are preferred to those that died. A session that failed is also found by its run's folder.

    Raises:
        AmbiguousSession: The names of several sessions begin with `name`.
        BadParameter: No session is running.
        UnknownName: No session has this name; the running ones are listed.
        OtherVersion: The telemetry in the run's folder is of another version of pac-tui.
    """
    found = sessions()
    running = [session for session in found if session.alive]
    if name == LATEST:
        if not running:
            died = ", ".join(session.name for session in found)
            raise BadParameter(
                f"no session is running{f'; to see the last state of one that died, name it: {died}' * bool(died)}"
            )
        newest = running[-1]
        return min((one for one in running if one.group == newest.group), key=lambda one: one.rank)
    for alive in (True, False):
        ours = [session for session in found if session.alive is alive]
        exact = [session for session in ours if name in {session.name, str(session.pid)}]
        begun = exact or [session for session in ours if session.name.startswith(name)]
        if len(begun) == 1 or (begun and len({session.group for session in begun}) == 1):
            return min(begun, key=lambda session: session.rank)
        if begun:
            raise AmbiguousSession(name, begun)
    for folder in (runs_dir / name, Path(name), *((watched_runs() or runs_dir) / name,)):
        if (left := _last_session(folder)) is not None:
            return left
    live = [session.name for session in running]
    if not live:
        raise BadParameter(f"no session is called {name!r}, and none is running: `pac-tui run --headless` starts one")
    raise UnknownName("session", name, live)
