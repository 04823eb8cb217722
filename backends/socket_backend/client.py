"""The client of the binary protocol, and server processes behind Unix sockets.

It sends the requests of all environments, then decodes all answers together.
"""

from __future__ import annotations

import socket
import struct
import time
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

import numpy as np

from ...envs import BadParameter, Task
from ...envs.fields import Array
from ...envs.task import LOOKED_AT, MASK_64
from ..core.errors import BackendTimeout, ProtocolError
from ..core.layout import Buffer
from ..servers.served import ServedBackend
from ..system.cores import usable_cores
from ..system.sockets import connect
from ..workers.control import LONG_SPIN, SpinWait
from ..workers.fleet import Member
from ..workers.supervised import LOOK
from .decoding import Decoder
from .protocol import (
    EPISODE,
    HEADER,
    HELLO_REQ,
    HELLO_RESP,
    VERSION,
    Code,
    FrameKind,
    SocketFrame,
    error_of,
    frame,
    parse,
)
from .server import path_of

PATIENCE = struct.pack("@ll", 0, int(LOOK * 1e6))


class SocketConnections(Decoder):
    """One connection per environment of a buffer.

    Args:
        buffer: The buffer for the answers.
        spin: The longest time to yield before a wait blocks, in ns; 0 to never yield.
        plain: Whether the servers know only the twelve plain types: no HELLO_REQ is sent, and no RECORD comes.
    """

    def __init__(self, task: Task, buffer: Buffer, *, spin: int = 0, plain: bool = False) -> None:
        super().__init__(task, buffer, plain=plain)
        num_envs = self._count
        self._patience = SpinWait(spin)
        self._rows = [row.data for row in self._answers]
        self._got, self._needs = [0] * num_envs, [self._needed()] * num_envs
        self._ident = 0
        self._head = self._next = b""
        self._kind, self._answer = (
            (FrameKind.STEP_REQ, FrameKind.STEP_RESP)
            if task.players == 1
            else (FrameKind.STEP_MULTI_REQ, FrameKind.STEP_MULTI_RESP)
        )
        sizes = self._sizes
        self._acting = task.players * sizes.acting
        self._requests = np.zeros((num_envs, HEADER.size + self._acting), np.uint8)
        self._frames = [row.data for row in self._requests]
        shape = (num_envs, self._acting // sizes.action.itemsize)
        self._actions: Array = np.ndarray(
            shape, sizes.action, self._requests.data, HEADER.size, (self._requests.strides[0], sizes.action.itemsize)
        )
        self._last_requested = bytes(num_envs)

    def connect(self, env: int, path: Path, seed: int, timeout: float) -> None:
        """Connect an environment to the server at `path`, and make it again with the seed.

        Raises:
            OSError: There is no such server, or it closed the connection.
            ProtocolError: It does not serve this environment, or another task.
            BackendTimeout: It does not answer within `timeout` s.
        """
        self.drop(env)
        wire = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._wires[env] = wire
        connect(wire, path)
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, PATIENCE)
        if not self._plain:
            self.greet(env, seed, timeout)

    def go_on(self, env: int) -> None:
        """Continue an environment after the last episode in the buffer."""
        episode = int(self._buffer["episode"][0, env])
        if episode >= 0:
            state = self._buffer["state"][0, env].tobytes() if "state" in self._buffer else b""
            self.send(env, frame(FrameKind.STATE, 0, EPISODE.pack(episode) + state))

    def greet(self, env: int, seed: int, timeout: float) -> None:
        """Make a connected environment again with another seed; raises the errors of `connect`."""
        self._wire(env).sendall(frame(FrameKind.HELLO_REQ, 0, HELLO_REQ.pack(VERSION, env, seed & MASK_64)))
        answer = self.next_frame(env, timeout)
        if answer.kind != FrameKind.HELLO_RESP:
            raise error_of(answer.body) if answer.kind == FrameKind.ERROR else self._unexpected(answer.kind)
        if HELLO_RESP.unpack(answer.body)[-1] != self._sizes.checksum:
            raise ProtocolError(Code.VERSION, f"the server does not serve this version of {self._task.spec}")
        self._needs[env] = self._needed()
        self._last_requested = self._last_requested[:env] + b"\x00" + self._last_requested[env + 1 :]

    def next_frame(self, env: int, timeout: float) -> SocketFrame:
        """Return the next frame of an environment without a pending result; raises the errors of `connect`."""
        wire, data, end = self._wire(env), b"", time.monotonic() + timeout
        while (answer := parse(data, self._sizes.answers)) is None:
            # Bytes after the frame stay in the socket.
            length = HEADER.unpack(data)[2] if len(data) >= HEADER.size else 0
            try:
                more = wire.recv(HEADER.size + length - len(data))
            except BlockingIOError:
                if time.monotonic() > end:
                    raise BackendTimeout(f"environment {env + 1} did not answer within {timeout:g} s") from None
                continue
            if not more:
                raise ConnectionResetError
            data += more
        return answer

    def drop(self, env: int) -> None:
        self._got[env] = 0
        super().drop(env)

    def send_reset(self, envs: list[int]) -> None:
        self._begin(FrameKind.RESET_RESP)
        asked = frame(FrameKind.RESET_REQ, self._ident)
        for env in envs:
            self.send(env, asked)

    def send_step(self, envs: list[int], slot: int) -> None:
        self._begin(self._answer)
        self._actions[...] = self._buffer["action"][slot].reshape(self._actions.shape)
        head = HEADER.pack(self._kind, self._ident, self._acting)
        for env in envs:
            asked = self._frames[env]
            asked[: HEADER.size] = head
            self.send(env, asked)

    def send_board_requests(self) -> None:
        looked = self._buffer.boards_requested() if LOOKED_AT in self._buffer else self._last_requested
        if looked == self._last_requested:
            return
        for env, (now, before) in enumerate(zip(looked, self._last_requested, strict=True)):
            if now != before and self._wires[env] is not None:
                self.send(env, frame(FrameKind.LOOK, 0, bytes((now,))))
                self._needs[env] = self._whole if now else self._third
        self._last_requested = looked
        self._watched = np.flatnonzero(np.frombuffer(looked, np.uint8))

    def receive(self, env: int) -> bool:
        wire, row, got, need = self._wire(env), self._rows[env], self._got[env], self._needs[env]
        if not got and not self.answered(env):
            self._wait(env)
        while got < need:
            try:
                count = wire.recv_into(row[got:need])
            except BlockingIOError:
                self._got[env] = got
                return False
            if count == 0:
                raise ConnectionResetError
            got += count
            if got - count < HEADER.size <= got and row[: HEADER.size] != self._head:
                raise self._wrong(wire, bytes(row[:got]))
        self._got[env] = 0
        if not self._plain and row[self._second : self._second + HEADER.size] != self._next:
            raise self._unexpected(row[self._second])
        return True

    def _wait(self, env: int) -> None:
        """Yield, if the last answer came soon, then block until data comes, at most for `LOOK` s."""
        begun = time.monotonic_ns()
        if not self._patience.wait_until(lambda: self.answered(env)):
            with suppress(OSError):  # at its time limit; not `select`, which takes only the first 1,024 files
                self._wire(env).recv(1, socket.MSG_PEEK)
            self._patience.learn(time.monotonic_ns() - begun)

    def answered(self, env: int) -> bool:
        wire = self._wires[env]
        if wire is None or self._got[env]:
            return self._got[env] > 0
        try:
            return len(wire.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)) > 0
        except OSError:
            return False

    def _needed(self) -> int:
        if self._plain:
            return self._second
        return self._whole if self._sizes.always_drawn else self._third

    def _begin(self, answer: FrameKind) -> None:
        self._ident = ident = (self._ident + 1) & 0xFFFF_FFFF
        self._head = HEADER.pack(answer, ident, self._body)
        self._next = HEADER.pack(FrameKind.RECORD, ident, self._sizes.record)

    def send(self, env: int, asked: bytes | memoryview) -> None:
        """Send a request; if the server is gone, `receive` will notice."""
        with suppress(OSError):
            self._wire(env).sendall(asked)

    def _wrong(self, wire: socket.socket, data: bytes) -> ProtocolError | BadParameter:
        """Return the error in an ERROR frame, or an error for another unexpected frame."""
        kind = data[0]
        if kind != FrameKind.ERROR:
            return self._unexpected(kind)
        while (found := parse(data, self._sizes.answers)) is None:
            more = wire.recv(1 << 12)
            if not more:
                raise ConnectionResetError
            data += more
        error = error_of(found.body)
        return BadParameter(str(error)) if error.code == Code.REFUSED else error

    def _unexpected(self, kind: int) -> ProtocolError:
        return ProtocolError(Code.MALFORMED, f"unexpected frame of type {kind:#04x}")


class SocketBackend(ServedBackend):
    """Servers behind Unix sockets."""

    name: ClassVar[str] = "socket"
    _connections: SocketConnections

    def _open(self) -> None:
        roomy = len(self._spans()) < usable_cores() and self.buffer.order.rollouts == 1  # else another thread learns
        connections = SocketConnections(self.task, self.buffer, spin=LONG_SPIN if roomy else 0)
        self._open_connections("pac.backends.socket_backend.server:work", connections)

    def _connect(self, member: Member) -> None:
        """Connect to a server that is ready, then remove its path: no other process needs it."""
        path = path_of(member.report)
        for env in range(*member.span):
            self._connections.connect(env, path, member.arguments["seed"], self.timeout)
            self._connections.go_on(env)
        path.unlink(missing_ok=True)
