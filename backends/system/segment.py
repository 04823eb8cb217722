"""Shared memory as mapped files in a private directory, which is removed with its owner.

Every process that shares something has a directory `PID-START-TOKEN`, mode 0700, in the user's runtime directory, and
locks it. It contains segments (mode 0600) and sockets. A directory whose owner is dead is removed at the next start.
A locked directory has a living owner, which may be invisible in another container.
"""

from __future__ import annotations

import atexit
import errno
import fcntl
import math
import mmap
import os
import pwd
import resource
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from glob import glob
from pathlib import Path

from ...envs import PacError
from ...envs.apart import start_ticks
from ...envs.entries import open_regular, out_of_reach, untracked_map

SHM = Path("/dev/shm")  # noqa: S108
UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
PUBLISHED = "telemetry.*"
"""The telemetry. A dead process's directory with telemetry is removed by the reader that saves it."""
_locks: dict[Path, int] = {}
"""The open file that locks each directory of this process."""


class SharedMemoryFull(PacError):
    """The file system for shared memory is full."""

    title = "Shared memory is full"


class FilesTooSmall(SharedMemoryFull):
    """The size of files is limited, for example by `ulimit -f`."""

    title = "Files are too small"


class UnsafeDirectory(PacError):
    """The runtime directory belongs to another user, or others may write to it."""

    title = "Unsafe runtime directory"


def human_bytes(count: float) -> str:
    """Return a number of bytes with a binary unit, such as `64.0 MiB`."""
    for unit in UNITS[:-1]:
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} {UNITS[-1]}"


def runtime_directory() -> Path:
    """Return the per-user directory, mode 0700, below `PAC_RUNTIME_DIR`, /dev/shm or the temporary directory.

    Raises:
        UnsafeDirectory: It cannot be made, belongs to another user, or others may access it.
    """
    base = os.environ.get("PAC_RUNTIME_DIR") or (SHM if SHM.is_dir() else tempfile.gettempdir())
    path = Path(base) / f"pac-{os.getuid()}"
    try:
        path.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise UnsafeDirectory(
            f"{path} cannot be made: {error.strerror}; set PAC_RUNTIME_DIR to a directory that you may write to"
        ) from error
    found = path.lstat()
    if found.st_uid != os.getuid():
        raise UnsafeDirectory(
            f"{path} belongs to {_user(found.st_uid)}: set PAC_RUNTIME_DIR to a directory of your own"
        )
    if not stat.S_ISDIR(found.st_mode) or found.st_mode & 0o077:
        raise UnsafeDirectory(
            f"{path} must be a directory with mode 0700: remove it, or set PAC_RUNTIME_DIR to another directory"
        )
    return path


def _user(number: int) -> str:
    """Return a user's name, or number if there is no name."""
    try:
        return f"the user {pwd.getpwuid(number).pw_name}"
    except KeyError:
        return f"user {number}"


@cache
def _directory_of(_pid: int) -> Path:
    return new_directory()


def new_directory() -> Path:
    """Make another directory of this process, removed at exit."""
    pid = os.getpid()
    path = runtime_directory() / f"{pid}-{start_ticks(pid)}-{secrets.token_hex(8)}"
    _locks[path] = -1  # not locked yet; an interrupt from here on leaves nothing behind
    atexit.register(remove_directory, path)
    path.mkdir(mode=0o700)
    _locks[path] = out_of_reach(os.open(path, os.O_RDONLY))
    with suppress(OSError):  # a file system without locks
        fcntl.flock(_locks[path], fcntl.LOCK_EX)
    return path


def remove_directory(path: Path) -> None:
    """Remove a directory of this process, if it has not been removed yet; a fork leaves its parent's alone."""
    if path in _locks:
        shutil.rmtree(path, ignore_errors=True)
        with suppress(OSError):  # a program may close all descriptors, as daemons do
            os.close(_locks.pop(path))


def remove_directories() -> None:
    """Remove all directories of this process, as at its exit."""
    for path in tuple(_locks):
        remove_directory(path)


def _unlock_fork() -> None:
    """Close the inherited lock files: a lock holds while any process has its file open."""
    while _locks:
        with suppress(OSError):
            os.close(_locks.popitem()[1])


os.register_at_fork(after_in_child=_unlock_fork)


def known_directories() -> tuple[Path, ...]:
    """Return the directories that this process has made so far."""
    return tuple(_locks)


def own_directory() -> Path:
    """Return the directory of this process, made on first use and removed at exit."""
    return _directory_of(os.getpid())


def owner_of(path: Path) -> int | None:
    """Return the id of the process that a directory belongs to; None if it has ended or is not visible."""
    pid, started, *_ = (*path.name.split("-"), "", "")
    known = pid.isdigit() and started.isdigit() and start_ticks(int(pid)) == int(started)
    return int(pid) if known else None


def is_owned(path: Path) -> bool:
    """Whether the owner of a directory is alive, here or in another container."""
    return owner_of(path) is not None or _is_locked(path)


def _is_locked(path: Path) -> bool:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        return isinstance(error, BlockingIOError)
    finally:
        os.close(descriptor)
    return False


def directories() -> Iterator[tuple[Path, int, bool]]:
    """Yield the directories of all processes, with the process id and whether it is alive."""
    with os.scandir(runtime_directory()) as entries:
        found = [Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)]  # a FIFO would block
    for path in found:
        pid = path.name.partition("-")[0]
        if pid.isdigit():
            yield path, int(pid), is_owned(path)


def remove_stale() -> list[Path]:
    """Remove the directories of dead processes, except those with telemetry; return those removed."""
    dead = [path for path, _, alive in directories() if not alive]
    stale = [path for path in dead if not glob(f"{path}/{PUBLISHED}")]  # noqa: PTH207 - raises nothing if it is gone
    for path in stale:
        shutil.rmtree(path, ignore_errors=True)
    return stale


class Segment:
    """A file in memory, mapped into this process.

    Attributes:
        path: The file.
        map: The mapping, for `numpy.frombuffer(segment.map, ...)`.
    """

    def __init__(self, path: Path, mapping: mmap.mmap) -> None:
        self.path = path
        self.map = mapping

    @classmethod
    def create(cls, name: str, size: int, *, directory: Path | None = None) -> Segment:
        """Create and map a zeroed segment of `size` bytes, its pages reserved.

        Raises:
            SharedMemoryFull: The file system is full; the file was removed.
            FilesTooSmall: The process may not write such large files; the file was removed.
        """
        folder = directory or own_directory()
        path = folder / name
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            _reserve(descriptor, size)
            return cls(path, untracked_map(descriptor, size))
        except OSError as error:
            path.unlink()
            most = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
            if error.errno == errno.EFBIG and most != resource.RLIM_INFINITY and most < size:
                raise FilesTooSmall(
                    f"{human_bytes(size)} of shared memory are needed, and a file may have {human_bytes(most)} here "
                    "(ulimit -f): raise that limit, or use fewer environments"
                ) from error
            if error.errno not in {errno.ENOSPC, errno.EFBIG, errno.ENOMEM, errno.EINVAL}:
                raise
            raise SharedMemoryFull(
                f"{_room_for(size, folder)}: use fewer environments, set PAC_RUNTIME_DIR to a larger file system, or "
                "give the container more (--shm-size)"
            ) from error
        finally:
            os.close(descriptor)

    @classmethod
    def attach(cls, path: Path, *, writable: bool = False) -> Segment:
        """Map an existing segment; read-only unless `writable`.

        Raises:
            OSError: It is missing, or not a regular file.
            ValueError: It is empty.
        """
        descriptor = open_regular(path, (os.O_RDWR if writable else os.O_RDONLY) | os.O_NOFOLLOW)
        try:
            access = mmap.ACCESS_WRITE if writable else mmap.ACCESS_READ
            return cls(path, mmap.mmap(descriptor, os.fstat(descriptor).st_size, access=access))
        finally:
            os.close(descriptor)

    def unlink(self) -> None:
        """Remove the file; the memory is freed with the last mapping."""
        self.path.unlink(missing_ok=True)


def lack_of_room(folder: Path, size: int) -> str:
    """Return a message if the file system of `folder` has less than `size` bytes free, or an empty string."""
    return _room_for(size, folder) if size > _free(folder) else ""


def _free(folder: Path | int) -> float:
    """Return the free bytes of a file system, infinite if it has no limit."""
    room = os.statvfs(folder)
    return room.f_bavail * room.f_frsize if room.f_blocks else math.inf


def _room_for(size: int, folder: Path) -> str:
    """Return a message with the needed and the free bytes."""
    mount = next(path for path in (folder, *folder.parents) if path.is_mount())
    return f"{human_bytes(size)} of shared memory are needed and {mount} has {human_bytes(_free(folder))} free"


def _reserve(descriptor: int, size: int) -> None:
    """Reserve the pages of a file, so that a full file system is an error here and not a SIGBUS later."""
    if size > _free(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, size)
    else:
        os.ftruncate(descriptor, size)
