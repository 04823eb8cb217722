"""The messages of a relay: a kind, a length and data. Changed arrays are sent as runs of 64-byte lines."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from importlib.metadata import version
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...envs import PacError
from ...envs.files import parse_json
from ...envs.schema import checked
from ..telemetry.segment_layout import VERSION

PROTOCOL = 2
"""Version of the messages."""
HEAD = struct.Struct("<BI")
RUN = struct.Struct("<III")
"""Number of a block, its first changed line, and the number of lines."""
LINE = 64
"""Bytes of a line, which is compared and sent as a whole."""
MAX_MESSAGE = 8 << 20
"""Maximum bytes of a message, compressed and uncompressed."""

Bytes = NDArray[np.uint8]


class BadRelay(PacError):
    """The other side sent something that is not a relay message."""

    title = "Bad relay"


class Kind(IntEnum):
    """What a message contains."""

    HELLO = 1
    """JSON: versions, and which session is shown."""
    HEADER = 2
    """JSON: a new telemetry segment."""
    CHANGES = 3
    """Runs of changed lines of blocks."""
    ANSWER = 4
    """JSON: the answer to a command, with its number."""
    LOG = 5
    """New text in the log of the session."""
    END = 6
    """The session has ended. Without data."""
    COMMAND = 7
    """JSON: a command to the session, with a number. The only kind that is sent to the relay."""


@dataclass(frozen=True)
class Hello:
    """The first message: the versions that both sides must have in common, and the session.

    Attributes:
        protocol: Version of the messages.
        telemetry: Version of the telemetry.
        version: Of pac-tui.
        pid: The session's process.
        ranks: The numbers and processes of the ranks of its training on that machine.
    """

    protocol: int
    telemetry: int
    version: str
    run: str
    pid: int
    ranks: tuple[tuple[int, int], ...]

    @classmethod
    def read(cls, data: bytes) -> Hello:
        """Return what the other side sent.

        Raises:
            BadRelay: Its version differs, or the data is something else.
        """
        own = versions()
        try:
            found = parse_json(data)
            if any(found[key] != own[key] for key in ("protocol", "telemetry")):
                raise BadRelay(
                    f"pac-tui there has version {str(found.get('version'))[:40]}, and here {own['version']}: install "
                    "the same version on both sides"
                )
            return checked(found, cls)  # type: ignore[no-any-return]
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise BadRelay("the other side is not a relay of pac-tui") from error


def versions() -> dict[str, Any]:
    """Return the versions that both sides must have in common."""
    return {"protocol": PROTOCOL, "telemetry": VERSION, "version": version("pac-tui")}


class Message(NamedTuple):
    """A message."""

    kind: Kind
    data: bytes


def write_message(stream: IO[bytes], kind: Kind, data: bytes) -> int:
    """Write a message with compressed data; return its number of bytes."""
    message = zlib.compress(data, 1)
    stream.write(HEAD.pack(kind, len(message)) + message)
    stream.flush()
    return HEAD.size + len(message)


def read_message(stream: IO[bytes]) -> Message | None:
    """Return the next message; None at the end of the stream.

    Raises:
        BadRelay: The data is not a message, or is too large.
    """
    head = stream.read(HEAD.size)
    if len(head) < HEAD.size:
        return None
    number, size = HEAD.unpack(head)
    if number not in set(Kind) or size > MAX_MESSAGE:
        raise BadRelay(
            "the other side does not speak the protocol of pac-tui's relay; check that nothing else prints there"
        )
    packed = stream.read(size)
    if len(packed) < size:
        return None
    unpacking = zlib.decompressobj()
    try:
        data = unpacking.decompress(packed, MAX_MESSAGE)
    except zlib.error as error:
        raise BadRelay(f"a message of the relay is damaged: {error}") from error
    if not unpacking.eof:
        raise BadRelay(f"a message of the relay is longer than {MAX_MESSAGE >> 20} MiB")
    return Message(Kind(number), data)


def changes(block: int, before: Bytes, now: Bytes) -> Iterator[bytes]:
    """Yield the runs of changed lines of a block, at most `MAX_MESSAGE // 4` bytes each. Both have the same size."""
    edges = np.flatnonzero(np.diff(_differing(before, now), prepend=False, append=False))
    most = MAX_MESSAGE // 4 // LINE
    for begin, end in edges.reshape(-1, 2).tolist():
        for first in range(begin, end, most):
            last = min(end, first + most)
            yield RUN.pack(block, first, last - first) + now[first * LINE : last * LINE].tobytes()


def _differing(before: Bytes, now: Bytes) -> NDArray[np.bool_]:
    """Return which lines differ; the last one may be shorter."""
    whole = len(now) // LINE * LINE
    words = before[:whole].view("u8") != now[:whole].view("u8")
    differ = words.view("u8") != 0  # a line has eight words
    return differ if whole == len(now) else np.append(differ, (before[whole:] != now[whole:]).any())


def apply_changes(data: bytes, blocks: list[Bytes]) -> set[int]:
    """Write runs of lines into blocks; return the numbers of those that changed.

    Raises:
        BadRelay: A run is outside of its block.
    """
    at, changed = 0, set()
    while at < len(data):
        if len(data) - at < RUN.size:
            raise BadRelay("a change of the telemetry is cut")
        number, first, count = RUN.unpack_from(data, at)
        at += RUN.size
        if number >= len(blocks):
            raise BadRelay(f"the telemetry has no block {number}")
        block = blocks[number]
        begin, end = first * LINE, min((first + count) * LINE, len(block))
        if begin >= end or end - begin > len(data) - at:
            raise BadRelay("a change is outside of its block of the telemetry")
        block[begin:end] = np.frombuffer(data, np.uint8, end - begin, at)
        at += end - begin
        changed.add(number)
    return changed
