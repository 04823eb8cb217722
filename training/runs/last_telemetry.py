"""Keeps the last telemetry of a session that died in its run's folder, so that it can still be viewed."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from mmap import mmap
from pathlib import Path

from ...backends.system.segment import directories
from ...envs import PacError
from ...envs.files import open_binary
from ..telemetry.segment_layout import segment_path
from .folder import DIED, LAST, UNFINISHED, RunFolder
from .sessions import raw_description, read_session


def keep_last_telemetry(directory: Path) -> None:
    """Copy the telemetry in `directory` into its run's folder; if that fails, it is lost."""
    session = read_session(directory, 0, alive=False)
    if session is None:
        return
    folder = session.snapshot.description.folder  # empty without a run
    if not folder or not Path(folder).is_dir():
        return
    run, path = RunFolder(Path(folder)), segment_path(directory, session.snapshot.generation)
    _mark_died(run)
    with suppress(OSError), open_binary(path) as telemetry:
        write_telemetry(run, path.name, telemetry.read())


def write_telemetry(run: RunFolder, name: str, telemetry: bytes | mmap) -> None:
    """Write the telemetry of a session into its run's folder, in a file with a name; if that fails, it is lost."""
    last = run.entry(LAST)
    last.discard()
    try:
        last.mkdir()
        with os.fdopen((last / name).open(os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as kept:
            kept.write(telemetry)
    except OSError:
        last.discard()


def _mark_died(run: RunFolder) -> None:
    """Write into a run's metadata that its session was killed, unless another session is training it."""
    with suppress(PacError, OSError):
        if run.metadata().get("state") not in UNFINISHED:
            return
        run.claim()
        try:
            run.write_metadata({**run.metadata(), "state": DIED})
        finally:
            run.release()


def remove_dead_sessions() -> None:
    """Remove what killed processes left behind. The last telemetry of sessions is kept, and their runs are marked."""
    for path, _, alive in directories():
        if not alive:
            if raw_description(path).get("folder"):
                try:
                    keep_last_telemetry(path)
                except ImportError:  # a script's interpreter lacks Pydantic; the next app or session keeps it
                    continue
            shutil.rmtree(path, ignore_errors=True)
