"""W&B's local files `run-ID.wandb`: blocks with checksums, as the log of LevelDB, of messages."""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from ...envs.files import KIB, MIB, UnreadableFile, open_binary, parse_json
from .series import AllSeries
from .wire import BadMessage, fields, raw, signed, text

IDENT = b":W&B"
BLOCK = 32 * KIB
HEAD = struct.Struct("<IHB")
FULL, FIRST, MIDDLE, LAST = 1, 2, 3, 4
MOST_RECORD, MOST_BYTES = 16 * MIB, 512 * MIB
HISTORY, ITEM, STEP = 2, 1, 2
KEY, NESTED, JSON = 1, 2, 16
OWN = {"_step", "_timestamp", "_runtime"}


def read_wandb(path: Path, series: AllSeries) -> None:
    """Add the history of a run. What follows a damaged block is not read, which the notice says.

    Raises:
        OSError: The file cannot be read.
        UnreadableFile: It is no such file.
    """
    with open_binary(path) as file:
        if file.read(7)[:4] != IDENT:
            raise UnreadableFile(path, "it does not begin as a file of W&B")
        file.seek(0)
        try:
            for record in _records(file):
                for number, value in fields(record):
                    if number == HISTORY:
                        _add(raw(value), series)
        except BadMessage as error:
            series.notice = f"{path.name} is damaged: {error}"


def _records(file: BinaryIO) -> Iterator[bytes]:
    """Yield the records of a file."""
    parts: list[bytes] = []
    read, first = 0, True
    while read < MOST_BYTES and (block := file.read(BLOCK)):
        read += len(block)
        at = 7 if first else 0
        first = False
        while at + HEAD.size <= len(block):
            check, size, kind = HEAD.unpack_from(block, at)
            if not (check or size or kind):
                break  # the rest of the block is empty
            data = block[at + HEAD.size : at + HEAD.size + size]
            if len(data) < size:
                return  # it is being written
            if zlib.crc32(data, zlib.crc32(bytes([kind]))) != check:
                raise BadMessage("a checksum does not match")
            at += HEAD.size + size
            if kind in {FULL, FIRST}:
                parts = []
            parts.append(data)
            if sum(map(len, parts)) > MOST_RECORD:
                raise BadMessage("a record is too long")
            if kind in {FULL, LAST}:
                yield b"".join(parts)
                parts = []


def _add(data: bytes, series: AllSeries) -> None:
    """Add the numbers of a line of history."""
    step: float | None = None
    found: dict[str, float] = {}
    for number, value in fields(data):
        if number == STEP:
            step = next((float(signed(part)) for inner, part in fields(raw(value)) if inner == 1), 0.0)
        elif number == ITEM:
            name, scalar = _item(raw(value))
            if scalar is not None:
                found[name] = scalar
    at = found.get("global_step", found.get("_step", step or 0.0))
    seconds = found.get("_runtime", found.get("_timestamp", math.nan))
    for name, scalar in found.items():
        if name not in OWN and name:
            series.add(name, at, seconds, scalar)


def _item(data: bytes) -> tuple[str, float | None]:
    names: list[str] = []
    content = b""
    for number, value in fields(data):
        if number in {KEY, NESTED}:
            names.append(text(value))
        elif number == JSON:
            content = raw(value)
    if len(content) > KIB:
        return "", None  # a picture or a histogram
    try:
        found = parse_json(content, finite=False)
    except ValueError:
        return "", None
    special = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
    if isinstance(found, str):
        found = special.get(found)
    is_number = isinstance(found, int | float) and not isinstance(found, bool)
    return ".".join(filter(None, names)), float(found) if is_number else None
