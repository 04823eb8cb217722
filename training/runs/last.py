"""The last telemetry of a session that died, kept in its run's folder so that it can still be looked at."""

from __future__ import annotations

import shutil
from pathlib import Path

from ...backends.segment import directories
from .folder import LAST
from .sessions import read_session


def keep_last(directory: Path) -> None:
    """Copy the telemetry in `directory` into its run's folder; where that cannot be, it is lost with the session."""
    session = read_session(directory, 0, alive=False)
    if session is None or not Path(session.snapshot.description.folder or "/nowhere").is_dir():
        return
    last = Path(session.snapshot.description.folder) / LAST
    try:
        shutil.rmtree(last, ignore_errors=True)
        last.mkdir()
        shutil.copyfile(
            directory / f"telemetry.{session.snapshot.generation}", last / f"telemetry.{session.snapshot.generation}"
        )
    except OSError:
        shutil.rmtree(last, ignore_errors=True)


def sweep_dead() -> None:
    """Remove what processes left that were killed; the last telemetry of sessions is kept."""
    for path, _, alive in directories():
        if not alive:
            keep_last(path)
            shutil.rmtree(path, ignore_errors=True)
