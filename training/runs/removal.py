"""Removes runs: only from directly below the folder of runs, only what a run consists of, and never through a link."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from ...envs import BadParameter, UnknownName
from .errors import RunFolderError
from .folder import CHECKPOINTS, EPISODES, FILES, LAST, STATES, RunFolder, is_run
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
        run: The run.
        size: Bytes of all its files.
        checkpoints: Number of its checkpoints.
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
    if name in {"", ".", ".."} or Path(name).name != name:
        raise NotRemovable(
            f"{name!r} is not the name of a run: runs are removed by their names, from directly below --runs-dir "
            f"({parent})"
        )
    path = parent / name
    if path.is_symlink():
        raise NotRemovable(f"{path} is a link, and only folders are removed: remove the link itself with rm")
    if not path.is_dir() or not is_run(path):
        raise UnknownName("run", name, [run.name for run in RunFolder.all(parent)])
    run = RunFolder(path)
    if strange := next(_foreign_entries(path), None):
        raise NotRemovable(
            f"{path} was not removed: {strange} in it is not part of a run; move it first, or remove the folder with rm"
        )
    if not run.checkpoints.is_dir() and not _has_metadata(run):
        raise NotRemovable(f"{path} was not removed: it has neither checkpoints nor a run's run.json; use rm")
    return Removal(run, _size(path), sum(1 for _ in run.checkpoints.glob("step-*")))


def remove(run: RunFolder) -> None:
    """Remove a run's folder. Links in it are removed, and what they point to stays."""
    shutil.rmtree(run.path)


def _foreign_entries(path: Path) -> Iterator[str]:
    """Yield the paths, relative to a run's folder, of what does not belong in it."""
    for entry in sorted(os.scandir(path), key=lambda entry: entry.name):
        folder = entry.is_dir(follow_symlinks=False)
        if entry.name not in EXPECTED_FILES and (folder or entry.name not in FILES):
            yield entry.name
        elif folder:
            for part in sorted(Path(entry.path).iterdir()):
                if not any(fnmatch(part.name, pattern) for pattern in EXPECTED_FILES[entry.name]):
                    yield f"{entry.name}/{part.name}"


def _has_metadata(run: RunFolder) -> bool:
    try:
        return {"task", "trainer"} <= run.metadata().keys()
    except RunFolderError:
        return False


def _size(path: Path) -> int:
    """Return the bytes of all files below a folder, without following links."""
    return sum((Path(folder) / name).lstat().st_size for folder, _, names in os.walk(path) for name in names)
