"""Renames runs: only directly below the folder of runs, never one that is being trained, never onto something."""

from __future__ import annotations

from pathlib import Path

from ...envs import BadParameter
from ...envs.entries import FolderEntry
from .folder import LATEST, RunFolder
from .metadata import RunFolderError
from .removal import direct_run

MOST_NAME = 255
"""Bytes of a folder's name."""


def rename(parent: Path, name: str, new: str) -> RunFolder:
    """Give a run another name; return it.

    Raises:
        UnknownName: There is no such run; the known ones are listed.
        NotRemovable: The name is a path or a link.
        BadParameter: The new name is none, or is taken, or the run is being trained.
        RunFolderError: The folder cannot be renamed.
    """
    run = direct_run(parent, name)
    if not new.isprintable() or "/" in new or not new.strip(".") or new == LATEST:
        raise BadParameter(f"{new!r} cannot be the name of a run, which is that of a folder, without a slash")
    if len(new.encode()) > MOST_NAME:
        raise BadParameter(f"the name of a run has at most {MOST_NAME} bytes")
    entry = FolderEntry(parent, name)
    if entry.beside(new).exists:
        raise BadParameter(f"{parent / new} exists already: choose another name, or remove it first")
    run.claim()
    try:
        entry.rename(new)
    except OSError as error:
        raise RunFolderError(f"{run.path} cannot be renamed: {error.strerror}") from error
    finally:
        run.release()
    return RunFolder(parent / new)
