"""Event files of TensorBoard: records with checksums, each with an `Event`, of which the scalars are read.

A record is its length (8 bytes), a checksum of that, the data, and a checksum of the data, both CRC-32C.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...envs.files import MIB, open_binary
from .series import AllSeries
from .wire import BadMessage, fields, raw, signed, text

HEAD, TAIL = struct.Struct("<QI"), struct.Struct("<I")
MOST_RECORD = 64 * MIB
LARGE = 16_384
"""Bytes of a record from which on it is no scalar, but a picture or a histogram, and skipped."""
CHUNK = 4 * MIB
MOST_BYTES = 512 * MIB
"""Bytes of a file that are read."""
POLYNOMIAL = 0x82F63B78
MASK = 0xA282EAD8
STEP, TIME, SUMMARY, VALUE = 2, 1, 5, 1
TAG, SIMPLE, TENSOR = 1, 2, 8
TYPES = {1: "<f4", 2: "<f8", 3: "<i4", 9: "<i8"}
"""NumPy's names of the types of tensors, by their numbers."""
CONTENT, FLOATS, DOUBLES = 4, 5, 6


def read_events(path: Path, series: AllSeries) -> None:
    """Add the scalars of an event file. What follows a damaged record is not read, which the notice says.

    Raises:
        OSError: The file cannot be read.
    """
    with open_binary(path) as file:
        rest, read, places = b"", 0, 0
        while read < MOST_BYTES and (chunk := file.read(CHUNK)):
            read += len(chunk)
            data = rest + chunk
            records, end, skip = _records(data)
            good = _intact(data, records)
            for begin, size in records[:good]:
                try:
                    _add(data[begin : begin + size], series)
                except BadMessage as error:
                    series.notice = f"{path.name} has a record that is no event: {error}"
            if good < len(records) or end < 0:
                series.notice = f"{path.name} is damaged {'at the beginning' if not places + good else 'in the middle'}"
                return
            places += good
            rest = data[end:]
            if skip > len(rest):
                file.seek(skip - len(rest), 1)
                rest = b""
            elif skip:
                rest = rest[skip:]
        if read >= MOST_BYTES:
            series.notice = f"only the first {MOST_BYTES // MIB} MiB of {path.name} are read"


def _records(data: bytes) -> tuple[list[tuple[int, int]], int, int]:
    """Return the places and sizes of the small records, where the rest begins, and how much of it to skip.

    The rest is negative if what is there is no record.
    """
    found: list[tuple[int, int]] = []
    at, end = 0, len(data)
    while at + HEAD.size <= end:
        size, check = HEAD.unpack_from(data, at)
        if size > MOST_RECORD or check != _masked(_checksum(data[at : at + 8])):
            return found, -1, 0
        whole = HEAD.size + size + TAIL.size
        if size > LARGE:
            if at + whole > end:
                return found, at, whole
        elif at + whole > end:
            return found, at, 0
        else:
            found.append((at + HEAD.size, size))
        at += whole
    return found, at, 0


@cache
def _table() -> NDArray[np.uint32]:
    """Return the CRC-32C of each byte."""
    crc = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        crc = np.where(crc & 1, (crc >> 1) ^ np.uint32(POLYNOMIAL), crc >> 1).astype(np.uint32)
    return crc


@cache
def _plain_table() -> tuple[int, ...]:
    return tuple(_table().tolist())


@lru_cache(maxsize=LARGE)
def _checksum(size: bytes) -> int:
    """Return the CRC-32C of the size of a record."""
    table, crc = _plain_table(), 0xFFFFFFFF
    for byte in size:
        crc = table[(crc ^ byte) & 255] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def _masked(crc: int) -> int:
    return (((crc >> 15) | (crc << 17)) + MASK) & 0xFFFFFFFF


def _intact(data: bytes, records: Sequence[tuple[int, int]]) -> int:
    """Return how many records come before the first damaged one. Records of one size are checked together."""
    if not records:
        return 0
    begins, sizes = np.array(records, np.int64).T
    whole, table, good = np.frombuffer(data, np.uint8), _table(), len(records)
    for size in np.unique(sizes):
        which = np.flatnonzero(sizes == size)
        crc = np.full(len(which), 0xFFFFFFFF, np.uint32)
        for offset in range(int(size)):
            crc = table[(crc ^ whole[begins[which] + offset]) & 255] ^ (crc >> np.uint32(8))
        crc ^= np.uint32(0xFFFFFFFF)
        masked = ((crc >> np.uint32(15)) | (crc << np.uint32(17))) + np.uint32(MASK)
        ends = begins[which] + size
        stored = whole[ends[:, None] + np.arange(4)].copy().view("<u4")[:, 0]
        if len(bad := np.flatnonzero(masked != stored)):
            good = min(good, int(which[bad[0]]))
    return good


def _add(data: bytes, series: AllSeries) -> None:
    """Add the scalars of an event."""
    step, when = 0, 0.0
    summaries: list[bytes] = []
    for number, value in fields(data):
        if number == STEP:
            step = signed(value)
        elif number == TIME:
            when = _float(raw(value), "<d")
        elif number == SUMMARY:
            summaries.append(raw(value))
    for summary in summaries:
        for number, value in fields(summary):
            if number == VALUE:
                name, scalar = _scalar(raw(value))
                if name and scalar is not None:
                    series.add(name, float(step), when, scalar)


def _scalar(data: bytes) -> tuple[str, float | None]:
    """Return the name and the number of a value of a summary; None if it is something else."""
    name, scalar = "", None
    for number, value in fields(data):
        if number == TAG:
            name = text(value)
        elif number == SIMPLE:
            scalar = _float(raw(value), "<f")
        elif number == TENSOR:
            scalar = _of_tensor(raw(value))
    return name, scalar


def _of_tensor(data: bytes) -> float | None:
    """Return the number in a tensor of one number; None if it is another one."""
    kind, content = 0, b""
    for number, value in fields(data):
        if number == 1:
            kind = signed(value)
        elif number in {CONTENT, FLOATS, DOUBLES}:
            content = raw(value)
    dtype = TYPES.get(kind)
    if dtype is None or len(content) != np.dtype(dtype).itemsize:
        return None
    return float(np.frombuffer(content, dtype)[0])


def _float(data: bytes, kind: str) -> float:
    if len(data) != struct.calcsize(kind):
        raise BadMessage("a number has another size")
    return float(struct.unpack(kind, data)[0])


def is_events(name: str) -> bool:
    """Whether a file is an event file, by its name."""
    return ".tfevents." in name
