"""Files and folders below a folder that another person may have written, such as that of a run.

They are reached by their names through the descriptor of that folder. No link below it is followed, and only regular
files are opened, because a FIFO or a device could block the process.

Files that stay ours in a program that closes "all" descriptors, as daemons do, and then opens files of its own.

Those would get the numbers of ours, and we would use and close them.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import mmap
import os
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TypeAlias

LOWEST = 600
"""The lowest descriptor that is out of reach. Many programs close those below 256."""
MAP_FIXED = 0x10  # on Linux and macOS


def out_of_reach(descriptor: int) -> int:
    """Return a high descriptor of the same file, which is closed at `exec`; close the other one."""
    with suppress(OSError):  # none is free there
        moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, LOWEST)
        os.close(descriptor)
        return moved
    return descriptor


def untracked_map(descriptor: int, size: int) -> mmap.mmap:
    """Map a file for writing. The mapping has no descriptor, unlike those of Python before 3.13.

    Raises:
        OSError: It cannot be mapped.
    """
    if sys.version_info >= (3, 13):
        return mmap.mmap(descriptor, size, trackfd=False)
    memory = mmap.mmap(-1, size)  # its pages are replaced by the file's
    place = ctypes.CDLL(None, use_errno=True).mmap
    place.restype = ctypes.c_void_p
    place.argtypes = ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    access, kind = mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED | MAP_FIXED
    if place(address, size, access, kind, descriptor, 0) != address:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return memory


KINDS = {
    stat.S_IFREG: "a file",
    stat.S_IFDIR: "a directory",
    stat.S_IFLNK: "a link",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}
REFUSALS = {errno.ENXIO: "it is a FIFO, a socket or a device", errno.ELOOP: "it is a link"}
"""The reasons for which the system refuses to open a file with the flags used here."""
FOLDER = os.O_DIRECTORY | os.O_CLOEXEC
WAY = FOLDER | getattr(os, "O_PATH", 0)
"""To go through a folder, which needs no permission to list it."""


def open_regular(path: Path | str, flags: int = os.O_RDONLY, mode: int = 0o644, *, folder: int | None = None) -> int:
    """Open a regular file without blocking; return the descriptor.

    Args:
        path: The file; links are followed unless `flags` has `O_NOFOLLOW`.
        flags: As for `os.open`.
        mode: The permissions of a file that is created.
        folder: The descriptor of the folder to which a relative path belongs, instead of the current one.

    Raises:
        OSError: The file cannot be opened, or is not a regular file; `strerror` says why.
    """
    try:
        descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY, mode, dir_fd=folder)
    except OSError as error:
        if error.errno in REFUSALS:
            raise OSError(
                error.errno, f"{REFUSALS[error.errno]}, and a regular file was expected", str(path)
            ) from error
        raise
    kind = stat.S_IFMT(os.fstat(descriptor).st_mode)
    if kind != stat.S_IFREG:
        os.close(descriptor)
        raise OSError(errno.EINVAL, f"it is {KINDS.get(kind, 'no file')}, and a regular file was expected", str(path))
    return descriptor


class HeldFolder:
    """The descriptor of a folder, which keeps its meaning if another folder gets its path. Closed with this object."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def __del__(self) -> None:
        """Close the descriptor."""
        with suppress(OSError):
            os.close(self.descriptor)


class FolderEntry:
    """A file or folder by its names below a folder.

    Args:
        root: The path of that folder; links in it are followed.
        *names: The names of the folders below it, and its own.
        held: The descriptor of that folder; None to open its path every time.

    Attributes:
        path: Its path, for people; it may lead elsewhere by now.
    """

    def __init__(self, root: Path, *names: str, held: HeldFolder | None = None) -> None:
        if (wrong := next((name for name in names if "/" in name or name in {"", ".", ".."}), None)) is not None:
            raise ValueError(f"expected the name of a file or folder, got {wrong!r}")
        self._root, self._names, self._held = root, names, held
        self.path = root.joinpath(*names)

    def __truediv__(self, name: str) -> FolderEntry:
        """Return an entry of this folder."""
        return FolderEntry(self._root, *self._names, name, held=self._held)

    def __str__(self) -> str:
        """Return the path."""
        return str(self.path)

    @property
    def name(self) -> str:
        """Its last name."""
        return self.path.name

    def beside(self, name: str) -> FolderEntry:
        """Return another entry of the folder that contains this one."""
        return FolderEntry(self._root, *self._names[:-1], name, held=self._held)

    @contextmanager
    def _way(self, names: tuple[str, ...]) -> Iterator[int]:
        """Open the folder with these names.

        Raises:
            OSError: One of them is missing or is not a folder.
        """
        descriptor = os.open(self._root, WAY) if self._held is None else os.dup(self._held.descriptor)
        try:
            for name in names:
                inner = _open_folder(name, descriptor, self.path)
                os.close(descriptor)
                descriptor = inner
            yield descriptor
        finally:
            os.close(descriptor)

    @contextmanager
    def _parent(self) -> Iterator[int]:
        with self._way(self._names[:-1]) as descriptor:
            yield descriptor

    @contextmanager
    def folder(self) -> Iterator[int]:
        """Open this folder as a descriptor, which can be listed and flushed.

        Raises:
            OSError: It is missing or is not a folder.
        """
        with self._way(self._names) as way:
            descriptor = os.open(".", FOLDER, dir_fd=way)
            try:
                yield descriptor
            finally:
                os.close(descriptor)

    def hold(self) -> HeldFolder:
        """Return this folder as it is now, for entries that belong to it even if another one gets its path.

        Raises:
            OSError: It is missing or is not a folder.
        """
        with self.folder() as descriptor:
            return HeldFolder(out_of_reach(os.dup(descriptor)))

    def open(self, flags: int = os.O_RDONLY, mode: int = 0o644) -> int:
        """Open this regular file; return the descriptor.

        Raises:
            OSError: It cannot be opened, or is not a regular file.
        """
        with self._parent() as folder:
            return open_regular(self._names[-1], flags | os.O_NOFOLLOW, mode, folder=folder)

    def stat(self) -> os.stat_result:
        """Return the facts about it; of a link, its own.

        Raises:
            OSError: It does not exist.
        """
        with self._parent() as folder:
            return os.stat(self._names[-1], dir_fd=folder, follow_symlinks=False)

    @property
    def exists(self) -> bool:
        """Whether it exists, whatever it is."""
        with suppress(OSError):
            self.stat()
            return True
        return False

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder, and no link to one."""
        with suppress(OSError), self._way(self._names):
            return True
        return False

    def names(self, pattern: str = "*") -> list[str]:
        """Return the sorted names in this folder that match a pattern; none if it is no folder or may not be listed.

        Raises:
            OSError: The system cannot list it now.
        """
        with suppress(FileNotFoundError, NotADirectoryError, PermissionError), self.folder() as folder:
            return sorted(name for name in os.listdir(folder) if fnmatchcase(name, pattern))  # noqa: PTH208 - of a descriptor
        return []

    def mkdir(self) -> None:
        """Make this folder, unless it exists.

        Raises:
            OSError: It cannot be made, or is something else.
        """
        with self._parent() as parent:
            with suppress(FileExistsError):
                os.mkdir(self._names[-1], dir_fd=parent)
            os.close(_open_folder(self._names[-1], parent, self.path))

    def rename(self, name: str) -> None:
        """Give it another name in its folder, and replace a file that has that name.

        Raises:
            OSError: It cannot be renamed.
        """
        with self._parent() as folder:
            os.rename(self._names[-1], name, src_dir_fd=folder, dst_dir_fd=folder)

    def unlink(self) -> None:
        """Remove this file or link, if it exists.

        Raises:
            OSError: It cannot be removed.
        """
        with self._parent() as folder, suppress(FileNotFoundError):
            os.unlink(self._names[-1], dir_fd=folder)

    def rmdir(self) -> None:
        """Remove this empty folder.

        Raises:
            OSError: It is missing, is not empty, or is no folder.
        """
        with self._parent() as folder:
            os.rmdir(self._names[-1], dir_fd=folder)

    def remove(self) -> None:
        """Remove it with all that it contains, if it exists; links are removed, and what they point to stays.

        Raises:
            OSError: It cannot be removed, or is a held folder whose path leads to another one by now.
        """
        if not self._names:
            self._remove_root()
        elif self.is_folder:
            with self._parent() as folder:
                shutil.rmtree(self._names[-1], dir_fd=folder)
        else:
            self.unlink()

    def _remove_root(self) -> None:
        with self.folder() as folder:
            if not os.path.samestat(self._root.lstat(), os.fstat(folder)):
                raise OSError(errno.ESTALE, "another folder has its path by now", str(self._root))
            for name in self.names():
                (self / name).remove()
        self._root.rmdir()

    def discard(self) -> None:
        """Remove it as `remove` does, as far as that is possible."""
        with suppress(OSError):
            self.remove()

    def sync(self) -> None:
        """Flush the entries of this folder to the disk.

        Raises:
            OSError: The system reports an error.
        """
        with self.folder() as folder:
            os.fsync(folder)


Place: TypeAlias = Path | FolderEntry
"""A path, or what is reached through a folder."""


def entry_at(place: Place) -> FolderEntry:
    """Return what has a path as an entry of its folder: if it is a link, it is not followed."""
    return place if isinstance(place, FolderEntry) else FolderEntry(place.parent, place.name)


def entry_of(folder: Place) -> FolderEntry:
    """Return a folder as the one below which no link is followed."""
    return folder if isinstance(folder, FolderEntry) else FolderEntry(folder)


def _open_folder(name: str, parent: int, path: Path) -> int:
    try:
        return os.open(name, WAY | os.O_NOFOLLOW, dir_fd=parent)
    except OSError as error:
        if error.errno not in {errno.ENOTDIR, errno.ELOOP}:
            raise
        kind = stat.S_IFMT(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)
        text = f"{name} is {KINDS.get(kind, 'no directory')}, and a directory was expected"
        raise NotADirectoryError(errno.ENOTDIR, text, str(path)) from error
