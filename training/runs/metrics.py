"""`metrics.jsonl`: one line of JSON per iteration, each with a checksum of itself.

Lines from before there were checksums are read, too. What is damaged, cut short or longer than any line of ours is
skipped and counted.
"""

from __future__ import annotations

import json
import math
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from ...envs.files import KIB, MAX_INTEGER, append_bytes, open_binary, parse_json
from ..json_data import jsonable
from .errors import RunFolderError

FILE = "metrics.jsonl"
MAX_LINE = 128 * KIB
"""Bytes of a line. The most metrics that the telemetry has, with the longest names, take half of that."""
USUAL_LINE = 512
CHECKSUM = "checksum"
DISCARDED = "discarded_steps"
"""In the last line: environment steps of a rollout that was not finished, and not learned from."""
MARK = f'"{CHECKSUM}": "'.encode()
END = b'"}'
DIGEST = 8  # bytes


class Metrics(NamedTuple):
    """What a file of metrics contains.

    Attributes:
        rows: The lines, oldest first, without iterations that a resumed session made again.
        damaged: How many lines were skipped because they are not what was written.
    """

    rows: list[dict[str, float]]
    damaged: int


def append(folder: Path, row: Mapping[str, Any]) -> None:
    """Append a line to a run's metrics; an unknown, NaN or infinite value is null.

    Raises:
        OSError: It cannot be written.
    """
    text = json.dumps({**jsonable(row), CHECKSUM: ""}).encode().removesuffix(END)
    append_bytes(folder / FILE, text + _digest(text) + END + b"\n")


def read(folder: Path) -> Metrics:
    """Return all of a run's metrics; empty if there is no file.

    Raises:
        RunFolderError: The file cannot be read.
    """
    try:
        with open_binary(folder / FILE) as file:
            return _rows(_lines(file))
    except FileNotFoundError:
        return Metrics([], 0)
    except OSError as error:
        raise _unreadable(folder, error) from error


def sample(folder: Path, count: int) -> Metrics:
    """Return about `count` lines of a run's metrics, evenly spaced, the last one too; all of a short file.

    Raises:
        RunFolderError: The file cannot be read.
    """
    try:
        with open_binary(folder / FILE) as file:
            size = file.seek(0, 2)
            file.seek(0)
            return _rows(_lines(file) if size <= count * USUAL_LINE else _spaced(file, size, count))
    except FileNotFoundError:
        return Metrics([], 0)
    except OSError as error:
        raise _unreadable(folder, error) from error


def version(folder: Path) -> tuple[int, int]:
    """Return what changes when a run's metrics do: time in ns and size in bytes, or zeros without a file."""
    try:
        found = (folder / FILE).stat()
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size


def _unreadable(folder: Path, error: OSError) -> RunFolderError:
    return RunFolderError(f"{folder / FILE} cannot be read ({error.strerror}): remove it or restore it")


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of a file; of one that is too long, its beginning. No more than that is held at once."""
    while line := file.readline(MAX_LINE):
        yield line
        while len(line) == MAX_LINE and not line.endswith(b"\n"):
            line = file.readline(MAX_LINE)


def _spaced(file: BinaryIO, size: int, count: int) -> Iterator[bytes]:
    """Yield lines of a file of `size` bytes, about `count` of them, evenly spaced, and the last two."""
    tail = max(0, size - 2 * USUAL_LINE)
    for place in range(0, tail, size // count):
        if _at_line(file, place):
            yield file.readline(MAX_LINE)
    if _at_line(file, tail):
        yield from deque(_lines(file), maxlen=2)  # the very last may be cut short


def _at_line(file: BinaryIO, place: int) -> bool:
    """Go to the first line behind a place that was not read yet; return whether there is one nearby."""
    if place <= file.tell():
        return True
    file.seek(place)
    return file.readline(MAX_LINE).endswith(b"\n")


def _rows(lines: Iterable[bytes]) -> Metrics:
    """Return lines of metrics, without what was made again by a session that resumed the run."""
    kept: list[dict[str, float]] = []
    damaged = 0
    for line in lines:
        row = _row(line)
        if row is None:
            damaged += 1
            continue
        while kept and _replaces(row, kept[-1]):
            kept.pop()
        kept.append(row)
    return Metrics(kept, damaged)


def _replaces(row: Mapping[str, float], before: Mapping[str, float]) -> bool:
    """Whether the line before one is void: its iteration was made again, or its rollout was not finished."""
    if DISCARDED in before:
        return True
    done, again = before.get("iterations", -1), row.get("iterations", math.inf)
    return done > again if DISCARDED in row else done >= again


def _row(line: bytes) -> dict[str, float] | None:
    """Return the figures of a line that are known; None if it is not what was written."""
    text, mark, end = line.rstrip().rpartition(MARK)
    if mark and end != _digest(text + mark) + END:
        return None
    try:
        row = parse_json(line, finite=False)
    except ValueError:
        return None
    if not isinstance(row, dict):
        return None
    if mark:
        del row[CHECKSUM]
    known = {name: value for name, value in row.items() if value is not None}
    if not all(isinstance(value, int | float) for value in known.values()):
        return None
    return {name: value for name, value in known.items() if -MAX_INTEGER < value < MAX_INTEGER}


def _digest(text: bytes) -> bytes:
    """Return the checksum of the part of a line before its checksum, as text."""
    return blake2b(text, digest_size=DIGEST).hexdigest().encode()
