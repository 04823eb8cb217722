"""`metrics.jsonl`: a line of JSON per iteration, and one per change of a finding, each with a checksum of itself.

Lines of older versions, without checksums, are read as well. Lines that are damaged, cut short or too long are skipped
and counted.
"""

from __future__ import annotations

import json
import math
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from ...envs.entries import Place, entry_of
from ...envs.files import KIB, MAX_INTEGER, append_line, open_binary, parse_json
from ...envs.unknown import UNKNOWN, unknown_in
from ..json_data import NOT_FINITE, jsonable
from ..telemetry.metric_history import COUNTER_NAMES
from ..telemetry.metric_names import split_metric_name
from ..telemetry.segment_layout import MAX_HISTORY, MAX_METRICS
from ..telemetry.snapshot import Curve
from .metadata import RunFolderError

FILE = "metrics.jsonl"
MAX_LINE = 128 * KIB
"""Bytes of a line. The most metrics that the telemetry has, with the longest names, take half of that."""
USUAL_LINE = 512
CHECKSUM = "checksum"
DISCARDED = "discarded_steps"
"""In the last line: environment steps of an unfinished rollout, which was not learned from."""
FINDING = "finding"
"""What a line has that is about a finding: its JSON."""
MARK = f'"{CHECKSUM}": "'.encode()
END = b'"}'
DIGEST = 8  # bytes


class Metrics(NamedTuple):
    """What a file of metrics contains.

    Attributes:
        rows: The lines, oldest first, without iterations that a resumed session repeated.
        damaged: How many lines were skipped because they are damaged.
    """

    rows: list[dict[str, float]]
    damaged: int


def append(folder: Place, row: Mapping[str, Any]) -> None:
    """Append a line to a run's metrics; an unknown value is null, see `jsonable`.

    Raises:
        OSError: It cannot be written.
    """
    text = json.dumps({**jsonable(row), CHECKSUM: ""}).encode().removesuffix(END)
    append_line(entry_of(folder) / FILE, text + _digest(text) + END)


def read(folder: Place) -> Metrics:
    """Return all of a run's metrics; empty if there is no file.

    Raises:
        RunFolderError: The file cannot be read.
    """
    return _read(folder, _lines)


def sample(folder: Place, count: int) -> Metrics:
    """Return about `count` evenly spaced lines of a run's metrics, including the last; all lines of a short file.

    Raises:
        RunFolderError: The file cannot be read.
    """
    return _read(folder, partial(_spaced, count=count))


def read_findings(folder: Place) -> list[Any]:
    """Return the findings of a run as their lines have them, each as it was at the last one; oldest first.

    Raises:
        RunFolderError: The file cannot be read.
    """
    found: dict[Any, Any] = {}
    with _opened(folder) as file:
        for line in _lines(file) if file is not None else ():
            if line.startswith(b'{"%s"' % FINDING.encode()) and _is_finding(row := _parsed(line) or {}):
                finding = row[FINDING]
                found[str(finding.get("rule")), str(finding.get("began"))] = finding
    return list(found.values())


def _is_finding(row: Mapping[str, Any]) -> bool:
    return isinstance(row.get(FINDING), dict)


def _read(folder: Place, choose: Callable[[BinaryIO], Iterable[bytes]]) -> Metrics:
    """Return the metrics in the lines of a run's file that `choose` returns."""
    with _opened(folder) as file:
        return _rows(choose(file)) if file is not None else Metrics([], 0)


@contextmanager
def _opened(folder: Place) -> Iterator[BinaryIO | None]:
    """Open a run's file; None if there is none."""
    entry = entry_of(folder) / FILE
    try:
        with open_binary(entry) as file:
            yield file
    except FileNotFoundError:
        yield None
    except OSError as error:
        raise RunFolderError(f"{entry} cannot be read ({error.strerror}): remove it or restore it") from error


def version(folder: Path, name: str = FILE) -> tuple[int, int, int]:
    """Return numbers that change with the metrics of a run, or another file of it; zeros without a file."""
    try:
        found = os.lstat(f"{folder}/{name}")  # not as a `Path`: a list of runs may be long
    except OSError:
        return 0, 0, 0
    return found.st_mtime_ns, found.st_size, found.st_ino


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of a file; of a line that is too long, its beginning. Only one line is in memory at once."""
    while line := file.readline(MAX_LINE):
        yield line
        while len(line) == MAX_LINE and not line.endswith(b"\n"):
            line = file.readline(MAX_LINE)


def _spaced(file: BinaryIO, count: int) -> Iterator[bytes]:
    """Yield about `count` evenly spaced lines of a file, and the last two; all lines of a short file."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    if size <= count * USUAL_LINE:
        yield from _lines(file)
        return
    tail = max(0, size - 2 * USUAL_LINE)
    for place in range(0, tail, size // count):
        if _at_line(file, place):
            yield file.readline(MAX_LINE)
    if _at_line(file, tail):
        yield from deque(_lines(file), maxlen=2)  # the very last may be cut short


def _at_line(file: BinaryIO, place: int) -> bool:
    """Go to the first unread line at or after a place; return whether there is one nearby."""
    if place <= file.tell():
        return True
    file.seek(place)
    return file.readline(MAX_LINE).endswith(b"\n")


def _rows(lines: Iterable[bytes]) -> Metrics:
    """Return lines of metrics, without iterations that a resumed session repeated."""
    kept: list[dict[str, float]] = []
    damaged = 0
    for line in lines:
        parsed = _parsed(line)
        if parsed is not None and _is_finding(parsed):
            continue
        row = None if parsed is None else _metrics(parsed)
        if row is None:
            damaged += 1
            continue
        while kept and _replaces(row, kept[-1]):
            kept.pop()
        kept.append(row)
    return Metrics(kept, damaged)


def _replaces(row: Mapping[str, float], before: Mapping[str, float]) -> bool:
    """Whether a line replaces the one before it, whose iteration was repeated, or whose rollout was not finished."""
    if DISCARDED in before:
        return True
    done, again = before.get("iterations", -1), row.get("iterations", math.inf)
    return done > again if DISCARDED in row else done >= again


def _parsed(line: bytes) -> dict[str, Any] | None:
    """Return what a line contains, without its checksum; None if it is damaged."""
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
    return row


def _metrics(row: Mapping[str, Any]) -> dict[str, float] | None:
    """Return the known figures of a line; None if something in it is no number."""
    known = {name: _number(value) for name, value in row.items() if value is not None}
    if not all(isinstance(value, int | float) for value in known.values()):
        return None
    return {
        name: value
        for name, value in known.items()
        if -MAX_INTEGER < value < MAX_INTEGER or (name not in COUNTER_NAMES and not math.isfinite(value))
    }


def _number(value: Any) -> Any:
    return NOT_FINITE.get(value, value) if isinstance(value, str) else value


def _digest(text: bytes) -> bytes:
    """Return the checksum of the part of a line before its checksum, as text."""
    return blake2b(text, digest_size=DIGEST).hexdigest().encode()


AXES = ("steps", "seconds", "frames")


def read_curves(folder: Path) -> dict[str, Curve]:
    """Return the curves of a run by name, of about as many points as those of a session; empty without metrics.

    Raises:
        RunFolderError: The metrics cannot be read.
    """
    rows = sample(folder, MAX_HISTORY).rows
    names = dict.fromkeys(name for row in rows for name in row if name not in COUNTER_NAMES)
    with np.errstate(over="ignore"):
        axes = {axis: np.array([row.get(axis, UNKNOWN) for row in rows], "f4") for axis in AXES}
        found = {}
        for name in list(names)[:MAX_METRICS]:
            values = np.array([row.get(name, UNKNOWN) for row in rows], "f4")
            too_large = np.isinf(values) & [math.isfinite(row.get(name, UNKNOWN)) for row in rows]
            known = ~(unknown_in(values) | too_large)
            points = {axis: column[known] for axis, column in axes.items()}
            found[name] = Curve(name, split_metric_name(name)[0], values=values[known], **points)
    return found
