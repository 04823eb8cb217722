"""Overviews of runs, on disk and running: how far they are, and the curve of their most important figure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from ...envs import BadParameter
from ..trainers import trainer_kind
from ..units import RETURN, STEPPED, Figure, Units, first_of
from . import metadata, metrics, notes
from .folder import DIED, LAST, UNFINISHED, RunFolder, watched_runs
from .metadata import RunFolderError
from .sessions import FoundSession, sessions

MAX_POINTS = 256
LIVE, DAMAGED = "live", "damaged"
Version: TypeAlias = tuple[int, int, int]
T = TypeVar("T")


def _newest(most: int) -> Callable[[Callable[[Path], T]], Callable[[Path, Version], T]]:
    """Return a decorator of a function that reads a run: it is read again only if its version is another one.

    Only what was read last of each of `most` runs is kept, so a run that grows does not fill the memory. Threads that
    read a run at the same time each keep their result as a whole.
    """

    def decorated(read: Callable[[Path], T]) -> Callable[[Path, Version], T]:
        @lru_cache(maxsize=most)
        def kept(_folder: Path) -> list[tuple[Version, T]]:
            return []

        def newest(folder: Path, version: Version) -> T:
            last = kept(folder)
            if not last or last[0][0] != version:
                last[:] = [(version, read(folder))]
            return last[0][1]

        return newest

    return decorated


@_newest(16_384)
def _metadata_of(folder: Path) -> Mapping[str, Any] | str:
    """Return the metadata of a run, or what is wrong with them."""
    try:
        return RunFolder(folder).metadata()
    except RunFolderError as error:
        return str(error)


@_newest(512)
def _metrics_of(folder: Path) -> tuple[tuple[Mapping[str, Any], ...], str]:
    """Return some lines of a run's metrics, and why they cannot be read, if so."""
    try:
        return tuple(RunFolder(folder).sample_metrics(MAX_POINTS)), ""
    except RunFolderError as error:
        return (), str(error)


@_newest(16_384)
def _notes_of(folder: Path) -> notes.RunNotes:
    """Return the notes about a run; none if they cannot be read."""
    try:
        return notes.read(folder)
    except RunFolderError:
        return notes.RunNotes()


@dataclass(frozen=True)
class RunOverview:
    """A summary of a run.

    Attributes:
        folder: Its folder; None if it has none.
        metadata: The contents of `run.json`.
        state: `live`, `completed`, `interrupted`, `failed`, `died` (killed while it ran) or `damaged`.
        when: When it ended, or began if it is running, in s since the epoch.
        version: Numbers that change with its metrics, which are read when they are asked for.
        pid: The process that trains it; None if it is not running.
        damage: What is wrong with its metadata; empty if nothing is.
        checkpoint: The checkpoint that the user has chosen, to have it play; empty to train on from the last one.
    """

    name: str
    folder: Path | None
    metadata: Mapping[str, Any]
    state: str
    when: float
    version: Version = (0, 0, 0)
    pid: int | None = None
    damage: str = ""
    checkpoint: str = ""

    @property
    def rows(self) -> tuple[Mapping[str, Any], ...]:
        """Lines of its metrics, oldest first."""
        return self._metrics[0]

    @property
    def error(self) -> str:
        """What is wrong with its files; empty if nothing is."""
        return self.damage or self._metrics[1]

    @property
    def notes(self) -> notes.RunNotes:
        """Its tags and its note."""
        if self.folder is None or (found := metrics.version(self.folder, notes.FILE)) == (0, 0, 0):
            return notes.RunNotes()
        return _notes_of(self.folder, found)

    @property
    def _metrics(self) -> tuple[tuple[Mapping[str, Any], ...], str]:
        return _metrics_of(self.folder, self.version) if self.folder is not None and not self.damage else ((), "")

    @property
    def units(self) -> Units:
        """What its trainer calls what it counts."""
        return units_and_figures(self.metadata)[0]

    @property
    def goal(self) -> Figure:
        """Its most important figure."""
        return goal_of(self.metadata, self.rows[-1] if self.rows else ())

    def points(self, over: str) -> list[tuple[float, float]]:
        """Return the curve of its goal over `steps`, `frames` or `seconds`."""
        name = self.goal.name
        found = [(float(row[over]), float(row[name])) for row in self.rows if name in row and over in row]
        return [point for point in found if all(map(math.isfinite, point))]

    @property
    def best(self) -> float | None:
        """The best value of its goal."""
        return self.goal.best(value for _, value in self.points("seconds"))

    @property
    def members(self) -> tuple[Path, ...]:
        """The folders of several runs, if this is a summary of these."""
        return ()

    @property
    def resumable(self) -> bool:
        """Whether it has a checkpoint and no session is training it."""
        return not self.error and self.pid is None and self.folder is not None and RunFolder(self.folder).saved

    @property
    def viewable(self) -> bool:
        """Whether its last state was kept and cannot be resumed, as that of a watched script."""
        return self.pid is None and self.folder is not None and RunFolder(self.folder).entry(LAST).is_folder


def goal_of(metadata: Mapping[str, Any], names: Iterable[str]) -> Figure:
    """Return the most important figure of a run that has figures of these names."""
    return first_of(units_and_figures(metadata)[1], names)


def overviews(parent: Path, stopped: Callable[[], bool] = lambda: False) -> list[RunOverview]:
    """Return the running sessions and the runs in `parent`, the newest first; damaged runs have an error.

    Args:
        parent: The folder.
        stopped: Whether the rest is no longer needed.
    """
    live = [session for session in sessions() if session.alive and not session.snapshot.phase.over]
    training = {session.snapshot.description.folder: session for session in live}
    folder = parent.resolve()
    kept = [_of_folder(run, training.get(str(folder / run.name))) for run in RunFolder.each(parent) if not stopped()]
    if folder != watched_runs():
        kept += _watched_here(training, stopped)
    listed = {run.pid for run in kept}
    others = [_of_session(session) for session in live if session.pid not in listed]
    return sorted([*kept, *others], key=lambda run: (run.pid is not None, run.when), reverse=True)


def overview_of(run: RunFolder) -> RunOverview:
    """Return what is known of a run on disk, whether or not a session trains it."""
    return _of_folder(run, None)


def _watched_here(training: Mapping[str, FoundSession], stopped: Callable[[], bool]) -> list[RunOverview]:
    """Return the runs of watched scripts that were started in the working directory."""
    folder, here = watched_runs(), str(Path.cwd())
    runs = RunFolder.each(folder) if folder is not None else []
    found = [_of_folder(run, training.get(str(run.path.resolve()))) for run in runs if not stopped()]
    return [run for run in found if run.metadata.get("config", {}).get("cwd") == here]


def live_facts(run: RunFolder) -> Mapping[str, Any]:
    """Return the counters and the state of the session that trains a run; nothing if none does."""
    path = str(run.path.resolve())
    for session in sessions():
        about = session.snapshot.description
        if session.alive and not session.snapshot.phase.over and about.folder == path:
            return {**_counters(session), "state": LIVE}
    return {}


def units_and_figures(metadata: Mapping[str, Any]) -> tuple[Units, tuple[Figure, ...]]:
    """Return what the trainer of a run calls what it counts, and its figures."""
    try:
        kind = trainer_kind(str(metadata.get("trainer")))
    except BadParameter:  # of a script that is watched, of another version, or of a package that is broken or missing
        return STEPPED, (RETURN,)
    return kind.units, kind.figures


def _of_folder(run: RunFolder, session: FoundSession | None) -> RunOverview:
    """Return the overview of a run's folder, with the counters of the session that trains it."""
    written = metrics.version(run.path, metadata.FILE)
    facts, version, when = _metadata_of(run.path, written), metrics.version(run.path), written[0] / 1e9 or run.written
    if isinstance(facts, str):
        return RunOverview(run.name, run.path, {}, DAMAGED, when, damage=facts)
    if session is not None:
        began = float(session.snapshot.state["started"])
        return RunOverview(run.name, run.path, {**facts, **_counters(session)}, LIVE, began, version, session.pid)
    state = str(facts.get("state", ""))
    return RunOverview(run.name, run.path, facts, DIED if state in UNFINISHED else state, when, version)


def _of_session(session: FoundSession) -> RunOverview:
    """Return the overview of a session whose run is in another folder, or in none."""
    about, state = session.snapshot.description, session.snapshot.state
    began = float(state["started"])
    facts = {"task": about.task, "trainer": about.trainer, "started": began, **_counters(session)}
    folder = Path(about.folder) if about.folder else None
    version = metrics.version(folder) if folder is not None else (0, 0, 0)
    return RunOverview(about.run, folder, facts, LIVE, began, version, session.pid)


def _counters(session: FoundSession) -> dict[str, int]:
    """Return the counters of a session; those in its metadata are older."""
    return {name: int(session.snapshot.state[name]) for name in ("num_envs", "steps", "frames", "episodes")}
