"""The error of runs on the disk."""

from __future__ import annotations

from ...envs import PacError


class RunFolderError(PacError):
    """A run folder, or a file in it, cannot be made, read or written."""

    title = "Run folder"
