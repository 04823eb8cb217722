"""Records the calls that change files below a folder, fails or "kills" at any of them, and knows what reached the disk.

The calls are real, except flushing. After a kill no call has an effect any more, as if the process were dead.
"""

import builtins
import errno
import io
import os
from pathlib import Path

import pytest

CHANGING = ("rename", "replace", "unlink", "remove", "rmdir", "mkdir", "link", "symlink", "truncate", "chmod")


class Killed(BaseException):
    """The process ends here."""


class FileCalls:
    """The changing calls below a folder while it is used as a context.

    Args:
        folder: Where calls are recorded; others are only made.
        stop: The number of the call that fails, from 0; None if none does. Of a write, the first half is written.
        kill: Whether the process ends at that call; otherwise the call fails as on a full disk, and later ones work.

    Attributes:
        calls: The names of the calls with their paths below the folder.
        unflushed: What was not flushed to the disk when it was renamed or linked to its name.
    """

    def __init__(self, folder: Path, stop: int | None = None, *, kill: bool = False):
        self._folder, self._stop, self._kill = folder.resolve(), stop, kill
        self._dead = False
        self._patch = pytest.MonkeyPatch()
        self.calls: list[tuple[str, str]] = []
        self.unflushed: list[str] = []
        self._flushed = {path.stat().st_ino: content(path) for path in [folder, *folder.rglob("*")]}

    def __enter__(self):
        for name in CHANGING:
            self._patch.setattr(os, name, self._recorded(name, getattr(os, name)))
        for name in ("fsync", "fdatasync", "ftruncate", "fchmod", "write"):
            self._patch.setattr(os, name, self._recorded(name, getattr(os, name)))
        self._patch.setattr(os, "open", self._opened(os.open))
        for module in (io, builtins):
            self._patch.setattr(module, "open", self._file(io.open))
        return self

    def __exit__(self, kind, *_):
        self._patch.undo()
        return kind is Killed or (kind is not None and self._stop is not None and not issubclass(kind, AssertionError))

    def _place(self, target, dir_fd) -> str | None:
        if isinstance(target, int):
            target = Path(f"/proc/self/fd/{target}").readlink()
        elif dir_fd is not None:
            target = Path(f"/proc/self/fd/{dir_fd}").readlink() / os.fsdecode(target)
        path = Path(os.path.abspath(os.fsdecode(target)))  # noqa: PTH100 - a link must stay one
        return str(path.relative_to(self._folder)) if path.is_relative_to(self._folder) else None

    def _note(self, name: str, place: str) -> None:
        """Count a call; raise if it fails."""
        if self._dead:
            raise Killed
        self.calls.append((name, place))
        if self._stop == len(self.calls) - 1:
            self._dead = self._kill
            raise Killed if self._kill else OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), place)

    def _recorded(self, name, call):
        def made(*args, **options):
            renamed = name in {"rename", "replace", "link"}
            place = self._place(args[renamed], options.get("dst_dir_fd" if renamed else "dir_fd"))
            if place is None:
                return call(*args, **options)
            try:
                self._note(name, place)
            except (OSError, Killed):
                if name == "write" and len(self.calls) - 1 == self._stop:
                    call(args[0], args[1][: len(args[1]) // 2])
                raise
            if renamed:
                self._check(self._folder / str(self._place(args[0], options.get("src_dir_fd"))))
            if name in {"fsync", "fdatasync"}:
                path = self._folder / place
                self._flushed[path.stat().st_ino] = content(path)
                return None
            return call(*args, **options)

        return made

    def _check(self, source: Path) -> None:
        for path in [source, *source.rglob("*")] if source.is_dir() else [source]:
            if self._flushed.get(path.stat().st_ino) != content(path):
                self.unflushed.append(path.name)

    def _opened(self, call):
        def made(path, flags, *args, **options):
            place = self._place(path, options.get("dir_fd"))
            if place is not None and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC):
                self._note("open", place)
            return call(path, flags, *args, **options)

        return made

    def _file(self, call):
        def made(file, mode="r", buffering=-1, *text, **options):
            place = self._place(file, None)
            if place is None or not set(mode) & set("wax+"):
                return call(file, mode, buffering, *text, **options)
            if not isinstance(file, int):  # a descriptor is open already
                self._note("open", place)
            raw = Recorded(file, mode.replace("b", "").replace("t", ""), opener=options.pop("opener", None))
            raw.calls, raw.place = self, place
            buffered = io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)
            if "b" in mode:
                return buffered if buffering else raw
            return io.TextIOWrapper(buffered, *text, **options)

        return made


class Recorded(io.FileIO):
    """A file whose writes are recorded."""

    calls: FileCalls
    place: str

    def write(self, data):
        """Write, or fail as any call. What a dead process still had in its memory is lost."""
        calls = self.calls
        if calls._dead:
            return len(data)
        try:
            calls._note("write", self.place)
        except (OSError, Killed):
            super().write(memoryview(data)[: len(data) // 2])
            raise
        return super().write(data)


def content(path: Path) -> object:
    """Return what a file or a folder contains; of a link, where it points."""
    if path.is_symlink():
        return path.readlink()
    return sorted(each.name for each in path.iterdir()) if path.is_dir() else path.read_bytes()
