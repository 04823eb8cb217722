"""Runtime directories of tests: short enough for a socket's path, and known by their names to whoever comes later."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from pac.backends.system.segment import SHM, is_owned
from pac.envs.apart import start_ticks

MARK = "pact"
PARENT = SHM if SHM.is_dir() else Path(tempfile.gettempdir())


def own() -> Path:
    """Return what the paths of this process's directories begin with."""
    return PARENT / f"{os.getpid()}-{start_ticks(os.getpid())}-{MARK}-"


@contextmanager
def runtime() -> Iterator[Path]:
    """Yield a new runtime directory, and remove it."""
    folder = Path(tempfile.mkdtemp(prefix=own().name, dir=PARENT))
    lock = os.open(folder, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def users(start: Path) -> Iterator[psutil.Process]:
    """Yield the other processes that use a runtime directory whose path begins so."""
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.environ().get("PAC_RUNTIME_DIR", "").startswith(str(start)) and process.pid != os.getpid():
                yield process


def kill(processes: list[psutil.Process]) -> None:
    """Kill processes, and wait until they have ended."""
    for process in processes:
        with suppress(psutil.Error):
            process.kill()
    psutil.wait_procs(processes, 10)


def sweep() -> None:
    """Remove what tests left that were killed, and end the processes that use it."""
    for folder in PARENT.glob(f"*-{MARK}-*"):
        if not is_owned(folder):
            kill(list(users(folder)))
            shutil.rmtree(folder, ignore_errors=True)
