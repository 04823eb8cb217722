"""Finds logs of other programs below a folder, and reads their curves."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ...envs.files import UnreadableFile
from .events import is_events, read_events
from .series import AllSeries, Log, log_of
from .tables import is_table, read_table
from .wandb_log import read_wandb

EVENTS, WANDB, TABLE = "TensorBoard", "W&B", "CSV"
MOST_DEPTH, MOST_ENTRIES, MOST_LOGS = 8, 100_000, 10_000
TOGETHER = 16
"""Event files in one folder that are one run, which was resumed; if there are more, each is one."""


@dataclass(frozen=True)
class ForeignLog:
    """A log of another program.

    Attributes:
        name: Its path below the folder in which it was found.
        path: Its file, or the folder of its event files.
        kind: Which program's.
        when: When it was written, in s since the epoch.
    """

    name: str
    path: Path
    kind: str
    when: float

    @property
    def version(self) -> tuple[int, int, int]:
        """Numbers that change with it."""
        return version(self.path)


def kind_of(name: str) -> str:
    """Return which program's log a file is, by its name; empty if it is none."""
    if is_events(name):
        return EVENTS
    return WANDB if name.endswith(".wandb") else TABLE if is_table(name) else ""


def find_logs(root: Path, skipped: Callable[[Path], bool] = lambda _: False) -> list[ForeignLog]:
    """Return the logs below a folder, or the one in a file, the newest first. Links to folders are not followed.

    Args:
        root: The folder or file.
        skipped: Whether not to look into a folder.
    """
    if not root.is_dir():
        kind = kind_of(root.name) or (TABLE if root.suffix == ".csv" else "")
        return [ForeignLog(root.name, root, kind, root.stat().st_mtime)] if kind and root.is_file() else []
    found: list[ForeignLog] = []
    for folder, files in _folders(root, skipped):
        events = [when for name, when in files if is_events(name)]
        together = bool(events) and len(events) <= TOGETHER
        logs = [(folder / name, kind_of(name), when) for name, when in files if not (together and is_events(name))]
        logs += [(folder, EVENTS, max(events))] if together else []
        for path, kind, when in logs:
            named = path if len(logs) > 1 and path != folder else folder
            found.append(ForeignLog(_name(named, root), path, kind, when))
        if len(found) >= MOST_LOGS:
            break
    return sorted(found, key=lambda log: log.when, reverse=True)[:MOST_LOGS]


def _name(path: Path, root: Path) -> str:
    """Return the name of a log that is below a folder or in it."""
    return str(path.relative_to(root)) if path != root else root.resolve().name


def _folders(root: Path, skipped: Callable[[Path], bool]) -> Iterator[tuple[Path, list[tuple[str, float]]]]:
    """Yield folders with the names and times of their logs."""
    waiting, seen = [(root, 0)], 0
    while waiting and seen < MOST_ENTRIES:
        folder, depth = waiting.pop()
        files: list[tuple[str, float]] = []
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    seen += 1
                    if seen >= MOST_ENTRIES:
                        break
                    if entry.is_dir(follow_symlinks=False):
                        path = folder / entry.name
                        if depth < MOST_DEPTH and not entry.name.startswith(".") and not skipped(path):
                            waiting.append((path, depth + 1))
                    elif kind_of(entry.name) and entry.is_file(follow_symlinks=False):
                        files.append((entry.name, entry.stat().st_mtime))
        except OSError:
            continue
        if files:
            yield folder, sorted(files)


def read_log(path: Path) -> Log:
    """Return the curves of a log: of a file, or of the event files of a folder, one after the other.

    Raises:
        UnreadableFile: It cannot be read, or is none.
    """
    series = AllSeries()
    try:
        if path.is_dir():
            names = sorted(name for name in os.listdir(path) if is_events(name))  # noqa: PTH208 - a name is enough
            if not names:
                raise UnreadableFile(path, "it has no logs that are known")
            for name in names[-TOGETHER:]:
                read_events(path / name, series)
        elif is_events(path.name):
            read_events(path, series)
        elif path.suffix == ".wandb":
            read_wandb(path, series)
        else:
            read_table(path, series)
    except OSError as error:
        raise UnreadableFile(path, error.strerror or str(error)) from error
    if not series.by_name and series.notice:
        raise UnreadableFile(path, series.notice)
    return log_of(series)


def version(path: Path) -> tuple[int, int, int]:
    """Return numbers that change with a log; zeros if there is none."""
    try:
        if not path.is_dir():
            found = path.stat()
            return found.st_mtime_ns, found.st_size, found.st_ino
        with os.scandir(path) as entries:
            stats = [entry.stat() for entry in entries if is_events(entry.name)]
        return max((one.st_mtime_ns for one in stats), default=0), sum(one.st_size for one in stats), len(stats)
    except OSError:
        return 0, 0, 0
