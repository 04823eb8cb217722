"""The binary protocol of environments behind a socket. This file is its specification.

All numbers are little-endian, without padding. A frame is a header of 9 bytes and a body:

    uint8 type, uint32 id, uint32 length of the body

The client sends requests; the server answers in the same order, with the id of the request. One connection is one
environment of P seats. A client or server needs only the first twelve types:

    type                    body
    0x01 RESET_REQ          empty
    0x02 RESET_RESP         P results, of the first observations
    0x03 STEP_REQ           the action; only if P is 1
    0x04 STEP_RESP          one result
    0x05 STEP_MULTI_REQ     the action of each seat
    0x06 STEP_MULTI_RESP    P results
    0x07 OBSERVE_REQ        empty
    0x08 OBSERVE_RESP       P times the observation and the mask of a result
    0x09 HEALTH_REQ         empty
    0x0A HEALTH_RESP        uint8, 1 if the server accepts requests
    0x0B SPACES_REQ         empty
    0x0C SPACES_RESP        int32 elements of an observation, int32 number of actions

An action is an int32, or an int32 for each of its components, or a float32 for each of its numbers.

A result is the observation as the task stores it, a uint8 per action (1: legal), and `TAIL`:

    float32 reward, uint8 done (0 no, 1 terminated, 2 truncated), uint8 rank, uint16 life, uint16 money, uint16 stage,
    uint8 board_size, uint8 level, uint8 synergy_count, uint8 items_held, uint8 actions_this_turn

For `autochess`, 612 float32 and 92 actions, that is 2,557 bytes. The numbers after `done` belong to the seat. A number
that a task has once for all seats is repeated for each seat, and one that it does not have is zero. There is no
auto-reset: after a step that ended the episode the observation is the last one, no action is legal, and RESET_REQ
starts the next episode.

The types from 0x40 on carry the other fields of this program's environments:

    0x40 HELLO_REQ          uint32 version, int32 environment (-1: any free one), uint64 seed of the run
    0x41 HELLO_RESP         uint32 version, int32 environment, uint64 seed, uint32 players, uint32 bytes of an
                            observation, uint32 bytes of a RECORD, uint32 bytes of a BOARD, uint32 checksum of fields
    0x42 RECORD             uint64 ns that the environment took, uint8 1 if the episode ended, the fields of `records`
    0x43 BOARD              the fields of `pictures`
    0x44 LOOK               uint8, whether to send BOARDs; it has no answer
    0x45 STATE              int64 number of the last episode, the task's `state` if it has one; it has no answer
    0x7F ERROR              uint16 code, text in UTF-8 of at most 1,024 bytes

HELLO_REQ selects the environment and makes it again with the seed. From then on each RESET_RESP, STEP_RESP and
STEP_MULTI_RESP is followed by a RECORD of the same id and, if boards were requested, by a BOARD. Tasks that draw at
every step send boards from the start. After a step that ended the episode, a BOARD shows the last state. STATE
continues another environment: the next RESET_REQ starts the episode after that one. Without HELLO_REQ a connection gets
the first free environment and the server's seed. An unknown version is answered by an ERROR with the code VERSION.

An ERROR with the code REFUSED answers an invalid action; nothing was stepped, and the connection stays open. After any
other ERROR the server closes the connection.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from enum import IntEnum
from math import prod
from typing import NamedTuple, TypeAlias

import numpy as np

from ...envs import Field, Task
from ...envs.task import LARGE, LARGE_OF, LAST_DRAWN, LOOKED_AT
from ..core.errors import ProtocolError

VERSION = 1
HEADER = struct.Struct("<BII")
HEALTH = struct.Struct("<B")
SPACES = struct.Struct("<ii")
HELLO_REQ = struct.Struct("<IiQ")
HELLO_RESP = struct.Struct("<IiQIIIII")
TOOK = struct.Struct("<QB")
LOOK = struct.Struct("<B")
EPISODE = struct.Struct("<q")
ERROR = struct.Struct("<H")
LONGEST_TEXT = 1024
ANY = -1
TERMINATED, TRUNCATED = 1, 2

NUMBERS = {
    "rank": "B",
    "life": "H",
    "gold": "H",
    "stage": "H",
    "board_size": "B",
    "level": "B",
    "kinds_active": "B",
    "items_held": "B",
    "actions_taken": "B",
}
"""The info fields of the task in a result, after `done`, and their types for `struct`; larger values are clipped."""
TAIL = struct.Struct("<fB" + "".join(NUMBERS.values()))
TAIL_TYPE = np.dtype([("reward", "<f4"), ("done", "u1"), *((name, f"<{code}") for name, code in NUMBERS.items())])
"""`TAIL`, for NumPy."""
IN_RESULTS = {"action", "observation", "final_observation", "action_mask", "reward", "terminated", "truncated"}
Bytes: TypeAlias = bytes | bytearray | memoryview
Lengths: TypeAlias = Mapping[int, tuple[int, int]]
"""The allowed types, and the smallest and largest size of their bodies in bytes."""


class FrameKind(IntEnum):
    """The types of frames."""

    RESET_REQ = 0x01
    RESET_RESP = 0x02
    STEP_REQ = 0x03
    STEP_RESP = 0x04
    STEP_MULTI_REQ = 0x05
    STEP_MULTI_RESP = 0x06
    OBSERVE_REQ = 0x07
    OBSERVE_RESP = 0x08
    HEALTH_REQ = 0x09
    HEALTH_RESP = 0x0A
    SPACES_REQ = 0x0B
    SPACES_RESP = 0x0C
    HELLO_REQ = 0x40
    HELLO_RESP = 0x41
    RECORD = 0x42
    BOARD = 0x43
    LOOK = 0x44
    STATE = 0x45
    ERROR = 0x7F


class Code(IntEnum):
    """The reason for an ERROR frame."""

    MALFORMED = 1
    """An invalid type or length."""
    OUT_OF_TURN = 2
    """A step without an episode, or a late HELLO_REQ."""
    REFUSED = 3
    """An invalid action."""
    BUSY = 4
    """No such environment is free."""
    FAILED = 5
    """The environment failed."""
    VERSION = 6
    """Another version of these types."""


class SocketFrame(NamedTuple):
    """A received frame; `body` is a view of the parsed bytes."""

    kind: int
    ident: int
    body: memoryview


class FrameSizes:
    """The sizes of a task's frames.

    Attributes:
        observation: Bytes of one seat's observation.
        action: The dtype of an action's components.
        acting: Bytes of one seat's action.
        result: Bytes of one seat's result.
        records: The fields in a RECORD, one after the other, those of seats P times.
        pictures: The fields in a BOARD.
        last_pictures: The fields with the boards of the last state of an episode.
        record: Bytes of a RECORD's body.
        board: Bytes of a BOARD's body.
        always_drawn: Whether boards are sent from the start.
        checksum: Equal for equal fields, seats, actions, parameters and version of the task.
        requests: The frames that a server accepts.
        answers: The frames that a client accepts.
    """

    def __init__(self, task: Task) -> None:
        self._players = players = task.players
        drawn = {item.name for item in (*task.boards, *task.last_boards)} | {LARGE, LARGE_OF}
        self.action = np.dtype("<f4" if task.bounds else "<i4")
        self.acting = self.action.itemsize * prod(task.action.shape)
        self.observation = task.observation.row_bytes
        self.result = self.observation + task.num_actions + TAIL.size
        self.records = tuple(item for item in task.fields if item.name not in IN_RESULTS | drawn)
        self.pictures = tuple(item for item in task.boards if item.name != LOOKED_AT)
        self.last_pictures = tuple(item for item in task.last_boards if item.name != LAST_DRAWN)
        self.record = TOOK.size + sum(self.bytes_of(item) for item in self.records)
        self.board = sum(self.bytes_of(item) for item in self.pictures)
        self.always_drawn = LOOKED_AT not in drawn
        fields = [(item.name, item.dtype, item.shape, item.encoding, item.per) for item in task.fields]
        meaning = (fields, players, task.num_actions, task.version, sorted(task.values.items()))
        self.checksum = zlib.crc32(repr(meaning).encode())
        self.requests: Lengths = _exact(
            {
                FrameKind.RESET_REQ: 0,
                FrameKind.STEP_REQ: self.acting,
                FrameKind.STEP_MULTI_REQ: self.acting * players,
                FrameKind.OBSERVE_REQ: 0,
                FrameKind.HEALTH_REQ: 0,
                FrameKind.SPACES_REQ: 0,
                FrameKind.HELLO_REQ: HELLO_REQ.size,
                FrameKind.LOOK: LOOK.size,
                FrameKind.STATE: EPISODE.size + (task.state.row_bytes if task.state else 0),
            }
        )
        self.answers: Lengths = {
            **_exact(
                {
                    FrameKind.RESET_RESP: self.result * players,
                    FrameKind.STEP_RESP: self.result,
                    FrameKind.STEP_MULTI_RESP: self.result * players,
                    FrameKind.OBSERVE_RESP: (self.observation + task.num_actions) * players,
                    FrameKind.HEALTH_RESP: HEALTH.size,
                    FrameKind.SPACES_RESP: SPACES.size,
                    FrameKind.HELLO_RESP: HELLO_RESP.size,
                    FrameKind.RECORD: self.record,
                    FrameKind.BOARD: self.board,
                }
            ),
            FrameKind.ERROR: (ERROR.size, ERROR.size + LONGEST_TEXT),
        }

    def bytes_of(self, item: Field) -> int:
        """Bytes of a field of one environment."""
        return item.row_bytes * (self._players if item.per == "seat" else 1)


def _exact(sizes: Mapping[int, int]) -> dict[int, tuple[int, int]]:
    return {int(kind): (size, size) for kind, size in sizes.items()}


def parse(data: Bytes, lengths: Lengths, at: int = 0) -> SocketFrame | None:
    """Return the frame at byte `at` of `data`, or None if it is incomplete.

    Raises:
        ProtocolError: Its type or length is not allowed.
    """
    if len(data) - at < HEADER.size:
        return None
    kind, ident, length = HEADER.unpack_from(data, at)
    limits = lengths.get(kind)
    if limits is None:
        known = ", ".join(f"{FrameKind(one).name} ({one:#04x})" for one in lengths)
        raise ProtocolError(Code.MALFORMED, f"expected a frame of type {known}, got {kind:#04x}")
    least, most = limits
    if not least <= length <= most:
        wanted = f"{least}" if least == most else f"{least} to {most}"
        raise ProtocolError(
            Code.MALFORMED, f"expected a body of {wanted} bytes for {FrameKind(kind).name}, got {length}"
        )
    begin = at + HEADER.size
    if len(data) - begin < length:
        return None
    return SocketFrame(kind, ident, memoryview(data)[begin : begin + length])


def frame(kind: int, ident: int, body: Bytes = b"") -> bytes:
    """Return a frame's bytes."""
    return HEADER.pack(kind, ident, len(body)) + bytes(body)


def error_frame(ident: int, code: int, text: str) -> bytes:
    """Return an ERROR frame; a long text is cut."""
    short = text.encode()[:LONGEST_TEXT].decode(errors="ignore").encode()
    return frame(FrameKind.ERROR, ident, ERROR.pack(code) + short)


def error_of(body: Bytes) -> ProtocolError:
    """Return the error in the body of an ERROR frame."""
    (code,) = ERROR.unpack_from(body)
    return ProtocolError(code, bytes(body[ERROR.size :]).decode(errors="replace"))


def greeting(task: Task, sizes: FrameSizes, env: int, seed: int) -> bytes:
    """Return the body of a HELLO_RESP."""
    numbers = task.players, sizes.observation, sizes.record, sizes.board, sizes.checksum
    return HELLO_RESP.pack(VERSION, env, seed, *numbers)


def spaces(task: Task) -> bytes:
    """Return the body of a SPACES_RESP."""
    return SPACES.pack(prod(task.observation.shape), task.num_actions)
