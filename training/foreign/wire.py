"""Fields of messages in the wire format of protocol buffers, as far as logs need it."""

from __future__ import annotations

from collections.abc import Iterator

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
MOST_VARINT = 10  # bytes


class BadMessage(ValueError):
    """Bytes are not a message."""


def fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield the fields of a message: their numbers, and an integer or the bytes.

    Raises:
        BadMessage: The bytes are not a message.
    """
    at, end = 0, len(data)
    while at < end:
        key = data[at]
        at += 1
        if key > 127:
            key, at = _varint(data, at - 1)
        kind = key & 7
        if kind == BYTES:
            size, at = _varint(data, at)
            if size > end - at:
                raise BadMessage("a field is longer than its message")
            yield key >> 3, data[at : at + size]
            at += size
        elif kind == VARINT:
            value, at = _varint(data, at)
            yield key >> 3, value
        elif kind in {FIXED64, FIXED32}:
            size = 8 if kind == FIXED64 else 4
            if size > end - at:
                raise BadMessage("a field is longer than its message")
            yield key >> 3, data[at : at + size]
            at += size
        else:
            raise BadMessage(f"a field has the unknown type {kind}")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return an integer and the place behind it."""
    value = shift = 0
    for place, byte in enumerate(data[at : at + MOST_VARINT], at):
        if byte < 128 and not shift:
            return byte, place + 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, place + 1
        shift += 7
    raise BadMessage("an integer has no end")


def signed(value: int | bytes) -> int:
    """Return an integer of 64 bits with its sign."""
    if isinstance(value, bytes):
        raise BadMessage("expected an integer")
    value &= 2**64 - 1
    return value - 2**64 if value >= 2**63 else value


def raw(value: int | bytes) -> bytes:
    """Return the bytes of a field."""
    if isinstance(value, int):
        raise BadMessage("expected bytes")
    return value


def text(value: int | bytes) -> str:
    """Return a text."""
    return raw(value).decode(errors="replace")
