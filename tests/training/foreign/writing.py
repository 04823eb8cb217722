"""Writes event files of TensorBoard and files of W&B, byte for byte as these do."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable
from pathlib import Path


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])


def field(number: int, data: bytes) -> bytes:
    """Return a field of bytes."""
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def event(step: int, when: float, **scalars: float) -> bytes:
    """Return an event with scalars, whose names have `__` for slashes."""
    values = b"".join(
        field(1, field(1, name.replace("__", "/").encode()) + b"\x15" + struct.pack("<f", value))
        for name, value in scalars.items()
    )
    return b"\x09" + struct.pack("<d", when) + b"\x10" + _varint(step) + field(5, values)


def tensor_event(step: int, name: str, value: float) -> bytes:
    """Return an event with a scalar as TensorFlow 2 writes it."""
    tensor = b"\x08\x01" + field(4, struct.pack("<f", value))
    return b"\x10" + _varint(step) + field(5, field(1, field(1, name.encode()) + field(8, tensor)))


TABLE: list[int] = []
for byte in range(256):
    crc = byte
    for _ in range(8):
        crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    TABLE.append(crc)


def _masked_crc(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 255] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return (crc >> 15 | crc << 17 & 0xFFFFFFFF) + 0xA282EAD8 & 0xFFFFFFFF


def record(data: bytes) -> bytes:
    """Return a record of an event file."""
    size = struct.pack("<Q", len(data))
    return size + struct.pack("<I", _masked_crc(size)) + data + struct.pack("<I", _masked_crc(data))


def write_events(path: Path, events: Iterable[bytes]) -> Path:
    """Write an event file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(map(record, events)))
    return path


def write_wandb(path: Path, history: Iterable[dict[str, str]]) -> Path:
    """Write a file of W&B with a record per line of history, whose values are JSON; long ones are in several parts."""
    found = bytearray(b":W&B\xee\xbe\x00")
    for step, line in enumerate(history):
        items = b"".join(field(1, field(1, key.encode()) + field(16, text.encode())) for key, text in line.items())
        data = field(2, items + field(2, b"\x08" + _varint(step)))
        first = True
        while True:
            room = 32_768 - len(found) % 32_768
            if room < 7:
                found += bytes(room)
                continue
            part, data = data[: room - 7], data[room - 7 :]
            kind = (1 if not data else 2) if first else (3 if data else 4)
            check = zlib.crc32(part, zlib.crc32(bytes([kind])))
            found += struct.pack("<IHB", check, len(part), kind) + part
            first = False
            if not data:
                break
    path.write_bytes(found)
    return path
