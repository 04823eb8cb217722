"""Removes runs: only from directly below the folder of runs, only what a run consists of, and never through a link."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from ...envs import BadParameter, UnknownName
from ...envs.entries import FolderEntry
from .folder import CHECKPOINTS, EPISODES, FILES, LAST, STATES, RunFolder, is_run
from .metadata import RunFolderError
from .tensorboard_log import FOLDER as TENSORBOARD

EXPECTED_FILES = {
    CHECKPOINTS: ("step-*", ".step-*"),
    EPISODES: ("*.jsonl", "*.cast", "*.gif"),
    LAST: ("telemetry.*",),
    STATES: ("env*-step*",),
    TENSORBOARD: ("*tfevents*",),
}
"""The names of files in the folders of a run."""


class NotRemovable(BadParameter):
    """A name is not a run's, or its folder contains something else."""

    title = "Not removed"


@dataclass(frozen=True)
class Removal:
    """A run that may be removed.

    Attributes:
        size: Bytes of all its files.
    """

    run: RunFolder
    size: int
    checkpoints: int


def check_removal(parent: Path, name: str) -> Removal:
    """Return the run called `name` directly below `parent`, after making sure that nothing else would be removed.

    Raises:
        UnknownName: There is no such run; the known ones are listed.
        NotRemovable: It is not a name but a path, or what it names is a link or contains more than a run.
    """
    run = direct_run(parent, name)
    _check_entries(run)
    if not run.entry(CHECKPOINTS).is_folder and not _has_metadata(run):
        raise NotRemovable(f"{run.path} was not removed: it has neither checkpoints nor a run's run.json; use rm")
    return Removal(run, _size(run), len(run.entry(CHECKPOINTS).names("step-*")))


def direct_run(parent: Path, name: str) -> RunFolder:
    """Return the run called `name` directly below `parent`; its folder stays the same one if its path leads elsewhere.

    Raises:
        UnknownName: There is no such run; the known ones are listed.
        NotRemovable: It is not a name but a path, or what it names is a link.
    """
    if name in {"", ".", ".."} or Path(name).name != name:
        raise NotRemovable(
            f"{name!r} is not the name of a run: runs are removed and renamed by name, directly below --runs-dir "
            f"({parent})"
        )
    path = parent / name
    if path.is_symlink():
        raise NotRemovable(
            f"{path} is a link, and only folders are removed and renamed: remove the link itself with rm"
        )
    if not path.is_dir() or not is_run(path):
        raise UnknownName("run", name, [run.name for run in RunFolder.all(parent)])
    try:
        run = RunFolder(path, held=FolderEntry(parent, name).hold())
    except OSError as error:
        raise NotRemovable(f"{path} cannot be opened: {error.strerror}") from error
    return run


def remove(run: RunFolder) -> None:
    """Remove a run's folder. Links in it are removed, and what they point to stays.

    Raises:
        NotRemovable: Another folder has its name by now, something was added that is not part of a run, or it cannot be
            removed.
    """
    _check_entries(run)
    try:
        run.entry().remove()
    except OSError as error:
        raise NotRemovable(f"{run.path} was not removed: {error.strerror}") from error


def _check_entries(run: RunFolder) -> None:
    """Make sure that a run's folder contains nothing else."""
    if strange := next(_foreign_entries(run), None):
        raise NotRemovable(
            f"{run.path} was not removed: {strange} in it is not part of a run; move it first, or remove the folder "
            "with rm"
        )


def _foreign_entries(run: RunFolder) -> Iterator[str]:
    """Yield the paths, relative to a run's folder, of what does not belong in it."""
    for name in run.entry().names():
        entry = run.entry(name)
        if name not in EXPECTED_FILES and (entry.is_folder or name not in FILES):
            yield name
        for part in entry.names() if name in EXPECTED_FILES else ():
            if not any(fnmatch(part, pattern) for pattern in EXPECTED_FILES[name]):
                yield f"{name}/{part}"


def _has_metadata(run: RunFolder) -> bool:
    try:
        return {"task", "trainer"} <= run.metadata().keys()
    except RunFolderError:
        return False


def _size(run: RunFolder) -> int:
    with run.entry().folder() as root:
        return sum(
            os.stat(name, dir_fd=folder, follow_symlinks=False).st_size
            for _, _, names, folder in os.fwalk(".", dir_fd=root)
            for name in names
        )
