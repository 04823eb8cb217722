"""Checkpoints: a directory each, with a safetensors file and a JSON file, written completely or not at all.

A checkpoint is written beside the others, flushed to the disk and renamed, so that a crash or a full disk leaves the
older ones unchanged. The JSON file contains a SHA-256 of the tensors and of its own data. Tensors are written slice by
slice and read as views of the file, so that a large one is in memory only once. Nothing is ever unpickled.

Files in a checkpoint say why it is kept longer than others: `best.json`, as the best one of its run, or `kept`, for
good. They are written with it, so there is a best checkpoint at any time. If a process was killed after that, the one
before may still be marked, too; the newer one is the best.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from io import BufferedReader
from operator import itemgetter
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from ...envs import PacError
from ...envs.entries import FolderEntry, Place, entry_at
from ...envs.fields import Array
from ...envs.files import KIB, MIB, UnreadableFile, open_binary, read_json
from ...envs.safetensors_file import map_tensors
from ..checkpoint_choice import BEST, LAST
from .streamed_array import StreamedArray, safetensors_chunks

VERSION = 2
PREFIX = "step-"
TENSORS = "tensors.safetensors"
DATA = "checkpoint.json"
ASIDE = ".old"
"""The end of the name of a checkpoint that is being replaced."""
MAX_DATA = 64 * MIB
BEST_MARK, LASTING_MARK = "best.json", "kept"
MAX_MARK = 64 * KIB
WEIGHTS = re.compile(r"(agent\d+\.)?(policy|adam)\.")
"""The beginning of the names of a network's weights and of Adam's moments, which must be finite."""
MALFORMED = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
"""What code raises that reads data of another form than it has written."""


class CheckpointNotWritten(PacError):
    """A checkpoint could not be written; the older ones are untouched."""

    title = "Checkpoint not written"


class NoCheckpoint(PacError):
    """There is no valid checkpoint."""

    title = "No usable checkpoint"


@dataclass(frozen=True)
class Best:
    """Why a checkpoint is the best one of its run.

    Attributes:
        metric: What is compared.
        value: Its value.
        only: Whether it was saved only for this, so that nothing remains of it when a better one is saved.
    """

    metric: str
    value: float
    only: bool = False


class _Unusable(Exception):
    """Why a checkpoint is not valid, or belongs to another run."""


@dataclass(frozen=True)
class Checkpoint:
    """A valid checkpoint.

    Attributes:
        path: Its directory.
        step: The environment step at which it was taken.
        data: What was saved with them.
        skipped: A sentence for each newer checkpoint that is not valid, or belongs to another run.
    """

    path: Path
    step: int
    tensors: Mapping[str, Array]
    data: Mapping[str, Any]
    skipped: tuple[str, ...] = ()


def save(
    directory: Place,
    step: int,
    tensors: Mapping[str, Any],
    data: Mapping[str, Any],
    keep: int = 3,
    *,
    best: Best | None = None,
    lasting: bool = False,
    replaced: Collection[str] = (),
) -> Path:
    """Write a checkpoint, then remove all but the newest `keep`, the best and the lasting ones; return its directory.

    Args:
        directory: The directory of a run's checkpoints; created if missing.
        step: The environment step; a checkpoint of the same step is replaced.
        tensors: NumPy arrays, CPU tensors or streams by name.
        data: JSON data; it is read after the tensors were written.
        best: Why it is the best one from now on, if it is.
        lasting: Whether it is kept for good.
        replaced: Names of checkpoints that it replaces, whatever they are.

    Raises:
        CheckpointNotWritten: The disk is full, or cannot be written to.
    """
    folder = entry_at(directory)
    final = folder / _name_of(step)
    beside = folder / f".{final.name}.{os.getpid()}"
    try:
        folder.mkdir()
        _put_back(folder)
        for left in folder.names(f".{PREFIX}*"):  # left by a killed process, since a run has only one writer
            (folder / left).discard()
        beside.mkdir()
        if best is not None:
            best = replace(best, only=best.only and not final.exists)
        _mark(beside, best or _best_mark(final), lasting=lasting or (final / LASTING_MARK).exists)
        _write(beside, step, tensors, data)
        _replace(folder, beside, final)
    except OSError as error:
        beside.discard()
        with suppress(OSError):
            _put_back(folder)
        reason = error.strerror or str(error)
        raise CheckpointNotWritten(
            f"{final} could not be written ({reason}); the older checkpoints are untouched"
        ) from error
    _clear(folder, final, keep, best=best is not None, replaced=replaced)
    return final.path


def _clear(folder: FolderEntry, final: FolderEntry, keep: int, *, best: bool, replaced: Collection[str]) -> None:
    """Remove what a new checkpoint makes superfluous, as far as that is possible."""
    for name in replaced:
        (folder / name).discard()
    for name, entry in _newest_first(folder) if best else ():
        if name != final.name and (mark := _best_mark(entry)):
            (entry if mark.only else entry / BEST_MARK).discard()
    newest = [entry for name, entry in _newest_first(folder) if name <= final.name]  # newer ones are not valid
    usual = [entry for entry in newest if not _is_marked(entry)]
    for old in usual[keep:]:
        old.discard()


def _mark(folder: FolderEntry, best: Best | None, *, lasting: bool) -> None:
    """Write why a checkpoint is kept."""
    if best is not None:
        _write_file(folder / BEST_MARK, iter([json.dumps(asdict(best)).encode()]))
    if lasting:
        _write_file(folder / LASTING_MARK, iter([b""]))


def _is_marked(entry: FolderEntry) -> bool:
    return (entry / LASTING_MARK).exists or (entry / BEST_MARK).exists


def _best_mark(entry: FolderEntry) -> Best | None:
    """Return why a checkpoint is the best one; None if it is not."""
    try:
        found = read_json(entry / BEST_MARK, MAX_MARK)
        return Best(str(found["metric"]), float(found["value"]), only=bool(found["only"]))
    except (UnreadableFile, *MALFORMED):
        return None


def best_of(directory: Place) -> tuple[str, Best] | None:
    """Return the name of the best checkpoint of a run and why it is; None if none is marked."""
    found = ((name, _best_mark(entry)) for name, entry in _newest_first(entry_at(directory)))
    return next(((name, best) for name, best in found if best is not None), None)


def lasting_of(directory: Place) -> list[str]:
    """Return the names of the checkpoints that are kept for good, oldest first."""
    return [name for name, entry in reversed(_newest_first(entry_at(directory))) if (entry / LASTING_MARK).exists]


def newer_than(directory: Place, step: int) -> list[str]:
    """Return the names of the checkpoints after a step."""
    return [name for name, _ in _newest_first(entry_at(directory)) if name > _name_of(step)]


def _name_of(step: int) -> str:
    return f"{PREFIX}{step:012d}"


def load_newest(
    directory: Place,
    expected: Mapping[str, str] = MappingProxyType({}),
    needed: Mapping[str, type] = MappingProxyType({}),
    take: Callable[[Checkpoint], None] = lambda _found: None,
    choice: str = LAST,
) -> Checkpoint:
    """Return the newest checkpoint that is valid and belongs to this run, and why newer ones were skipped.

    Args:
        directory: The directory of a run's checkpoints.
        expected: Values that its data must contain, by name.
        needed: The types of other values that its data must contain, by name.
        take: Called with each valid checkpoint; if it raises an error, the checkpoint is skipped.
        choice: Which one: `last`, `best` or a number of steps.

    Raises:
        NoCheckpoint: There is no such checkpoint.
        PacError: `take` raised it for the newest checkpoint that it was called with, and there is no other.
    """
    skipped: list[str] = []
    refused: PacError | None = None
    for entry in _chosen(entry_at(directory), choice):
        try:
            found = _read(entry)
            _check_run(found, expected, needed)
            take(found)
        except _Unusable as error:
            skipped.append(f"{entry.name} is skipped: {error}")
        except PacError as error:
            refused = refused or error
            skipped.append(f"{entry.name} is skipped: {error}")
        except MALFORMED as error:
            skipped.append(f"{entry.name} is skipped: its data is not valid ({type(error).__name__}: {error})")
        else:
            return replace(found, skipped=tuple(skipped))
    if refused:
        raise refused
    why = " ".join(f"{sentence}." for sentence in skipped) or _nothing_in(entry_at(directory))
    raise NoCheckpoint(f"no checkpoint in {directory} can be used. {why} Start a new run, or resume another one")


def _chosen(directory: FolderEntry, choice: str) -> list[FolderEntry]:
    """Return the checkpoints that a choice allows, newest first.

    Raises:
        NoCheckpoint: There is none.
    """
    entries = dict(_newest_first(directory))
    if choice == LAST:
        return list(entries.values())
    if choice == BEST:
        if found := [entry for entry in entries.values() if _best_mark(entry)]:
            return found
        raise NoCheckpoint(f"no checkpoint in {directory} is marked as the best one: train with --keep best")
    if _name_of(int(choice)) in entries:
        return [entries[_name_of(int(choice))]]
    steps = ", ".join(name.removeprefix(PREFIX).lstrip("0") or "0" for name in reversed(entries)) or "none"
    raise NoCheckpoint(f"there is no checkpoint at {int(choice):,} steps in {directory}; there are: {steps}")


def _nothing_in(directory: FolderEntry) -> str:
    """Return why there is no checkpoint in a directory."""
    try:
        with directory.folder():
            return "It contains none."
    except FileNotFoundError:
        return "It contains none."
    except OSError as error:
        return f"It cannot be used: {error.strerror}."


def _check_run(found: Checkpoint, expected: Mapping[str, str], needed: Mapping[str, type]) -> None:
    """Raise `_Unusable` if a checkpoint belongs to another run."""
    for name, value in expected.items():
        if found.data.get(name) != value:
            raise _Unusable(f"its {name} is {found.data.get(name)}, and {value} was expected")
    for name, kind in needed.items():
        if not isinstance(found.data.get(name), kind):
            raise _Unusable(f"its data lacks {name}")


def _write(folder: FolderEntry, step: int, tensors: Mapping[str, Any], data: Mapping[str, Any]) -> None:
    held = {
        name: one if isinstance(one, StreamedArray) else np.asarray(one, order="C") for name, one in tensors.items()
    }
    digest = _write_file(folder / TENSORS, safetensors_chunks(held))
    facts = json.loads(json.dumps({"version": VERSION, "step": step, "data": dict(data)}))  # as it will be read
    text = json.dumps({**facts, "sha256": _checksum(digest, facts)}, indent=2)
    _write_file(folder / DATA, iter([text.encode()]))
    folder.sync()


def _checksum(tensors: str, facts: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the tensors' SHA-256 and of JSON data, independent of its formatting."""
    return hashlib.sha256(f"{tensors} {json.dumps(facts, sort_keys=True)}".encode()).hexdigest()


def _write_file(entry: FolderEntry, pieces: Iterator[bytes | memoryview]) -> str:
    """Write a file, flush it to the disk and return its SHA-256."""
    digest = hashlib.sha256()
    with os.fdopen(entry.open(os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
        for piece in pieces:
            digest.update(piece)
            file.write(piece)
        file.flush()
        os.fsync(file.fileno())
    return digest.hexdigest()


def _replace(folder: FolderEntry, beside: FolderEntry, final: FolderEntry) -> None:
    """Rename a checkpoint; rename an old one of the same step first, since a directory cannot be overwritten."""
    aside = folder / f"{beside.name}{ASIDE}"
    if final.exists:
        final.rename(aside.name)
    beside.rename(final.name)
    folder.sync()
    aside.discard()


def _put_back(folder: FolderEntry) -> None:
    """Rename back what was not replaced after all, since the process was killed or the disk failed."""
    for name, aside in _unreplaced(folder).items():
        aside.rename(name)


def _unreplaced(folder: FolderEntry) -> dict[str, FolderEntry]:
    """Return the checkpoints that were renamed and not replaced, by their own names."""
    found = {aside[1:].partition(".")[0]: folder / aside for aside in folder.names(f".{PREFIX}*{ASIDE}")}
    return {name: aside for name, aside in found.items() if not (folder / name).exists}


def _newest_first(folder: FolderEntry) -> list[tuple[str, FolderEntry]]:
    """Return the checkpoints by name. A link is none."""
    named = {name: entry for name in folder.names(f"{PREFIX}*") if (entry := folder / name).is_folder}
    return sorted({**named, **_unreplaced(folder)}.items(), key=itemgetter(0), reverse=True)


def _read(entry: FolderEntry) -> Checkpoint:
    try:
        head = read_json(entry / DATA, MAX_DATA, finite=False)
        with open_binary(entry / TENSORS) as file:
            _verify(head, file)
            tensors, _ = map_tensors(file, writable=True)
    except UnreadableFile as error:
        raise _Unusable(f"{DATA} cannot be read: {error.reason}") from error
    except OSError as error:
        raise _Unusable(f"{TENSORS} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise _Unusable(f"{TENSORS} is not safetensors") from error
    for name, values in tensors.items():
        if WEIGHTS.match(name) and values.dtype.kind == "f" and not np.isfinite(values).all():
            raise _Unusable(f"{name} contains NaN or infinite numbers")
    return Checkpoint(entry.path, head["step"], tensors, head["data"])


def _verify(head: Any, tensors: BufferedReader) -> None:
    """Raise `_Unusable` if a checkpoint is damaged or of another version."""
    if not isinstance(head, dict) or not {"version", "step", "sha256", "data"} <= head.keys():
        raise _Unusable(f"{DATA} lacks a version, step, sha256 or data")
    if head["version"] != VERSION:
        raise _Unusable(f"it has version {head['version']}, this program reads version {VERSION}")
    if type(head["step"]) is not int or not 0 <= head["step"] < 2**63 or not isinstance(head["data"], dict):
        raise _Unusable(f"{DATA} has a step that is not a whole number, or data that is not an object")
    facts = {name: head[name] for name in ("version", "step", "data")}
    if _checksum(hashlib.file_digest(tensors, "sha256").hexdigest(), facts) != head["sha256"]:
        raise _Unusable("its checksum is wrong")


OnWritten = Callable[[int, CheckpointNotWritten | None], None]


class CheckpointWriter:
    """Writes one checkpoint at a time.

    Args:
        on_written: Called from the thread with the step, and with the error if there was one.
    """

    def __init__(self, directory: Place, on_written: OnWritten) -> None:
        self._directory = directory
        self._on_written = on_written
        self._thread: threading.Thread | None = None
        self._streams: list[StreamedArray] = []

    @property
    def busy(self) -> bool:
        """Whether a checkpoint is being written."""
        return self._thread is not None and self._thread.is_alive()

    def save(self, step: int, tensors: Mapping[str, Any], data: Mapping[str, Any], **marks: Any) -> None:
        """Start to write a checkpoint with the marks of `save`, after waiting for one that is being written."""
        self.wait()
        self._streams = [tensor for tensor in tensors.values() if isinstance(tensor, StreamedArray)]
        self._thread = threading.Thread(target=self._write, args=(step, tensors, data, marks), name="checkpoint")
        self._thread.start()

    def _write(self, step: int, tensors: Mapping[str, Any], data: Mapping[str, Any], marks: Mapping[str, Any]) -> None:
        try:
            save(self._directory, step, tensors, data, **marks)
        except CheckpointNotWritten as error:
            self._on_written(step, error)
        except Exception as error:  # whatever it is, nothing was saved
            self._on_written(step, CheckpointNotWritten(f"{type(error).__name__}: {error}"))
        else:
            self._on_written(step, None)

    @property
    def streaming(self) -> bool:
        """Whether an array still has to be passed on."""
        return bool(self._streams)

    def feed(self) -> None:
        """Pass on the next slice, in the training thread, while nothing writes into the arrays that are saved."""
        if self._streams[0].is_copied or not self.busy:
            self._streams.pop(0)
        else:
            self._streams[0].feed()

    def release(self) -> None:
        """Let the thread read the remaining arrays, into which nothing writes any more."""
        while self._streams:
            self._streams.pop().release()

    def wait(self) -> None:
        """Wait until the checkpoint is written; the training must not continue meanwhile."""
        self.release()
        if self._thread is not None:
            self._thread.join()
