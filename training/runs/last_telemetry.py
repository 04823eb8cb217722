"""Keeps the last telemetry of a session that died in its run's folder, so that it can still be viewed."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

from ...backends.system.segment import directories
from ...envs import PacError
from .folder import DIED, UNFINISHED, RunFolder
from .sessions import raw_description, read_session


def keep_last_telemetry(directory: Path) -> None:
    """Copy the telemetry in `directory` into its run's folder; where that cannot be, it is lost with the session."""
    session = read_session(directory, 0, alive=False)
    if session is None or not Path(session.snapshot.description.folder or "/nowhere").is_dir():
        return
    run = RunFolder(Path(session.snapshot.description.folder))
    _mark_died(run)
    last = run.last
    try:
        shutil.rmtree(last, ignore_errors=True)
        last.mkdir()
        shutil.copyfile(
            directory / f"telemetry.{session.snapshot.generation}", last / f"telemetry.{session.snapshot.generation}"
        )
    except OSError:
        shutil.rmtree(last, ignore_errors=True)


def _mark_died(run: RunFolder) -> None:
    """Write into a run's metadata that its session was killed, unless another one trains it by now."""
    with suppress(PacError, OSError):
        if run.metadata().get("state") not in UNFINISHED:
            return
        run.claim()
        try:
            run.write_metadata({**run.metadata(), "state": DIED})
        finally:
            run.release()


def remove_dead_sessions() -> None:
    """Remove what killed processes left. The last telemetry of sessions is kept, and their runs are marked."""
    for path, _, alive in directories():
        if not alive:
            if raw_description(path).get("folder"):
                try:
                    keep_last_telemetry(path)
                except ImportError:  # in a script's interpreter; the next app or session keeps it
                    continue
            shutil.rmtree(path, ignore_errors=True)
