"""Runtime directories of tests: short enough for a socket's path, and known by their names to whoever comes later."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pac.backends.system.segment import SHM, is_owned, start_ticks

MARK = "pact"
PARENT = SHM if SHM.is_dir() else Path(tempfile.gettempdir())


@contextmanager
def runtime() -> Iterator[Path]:
    """Yield a new runtime directory, and remove it."""
    pid = os.getpid()
    folder = Path(tempfile.mkdtemp(prefix=f"{pid}-{start_ticks(pid)}-{MARK}-", dir=PARENT))
    lock = os.open(folder, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def sweep() -> None:
    """Remove what tests left that were killed."""
    for folder in PARENT.glob(f"*-{MARK}-*"):
        if not is_owned(folder):
            shutil.rmtree(folder, ignore_errors=True)
