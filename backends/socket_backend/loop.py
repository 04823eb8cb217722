"""The server's loop over its connections, each of which is one environment."""

from __future__ import annotations

import errno
import logging
import selectors
import socket
import struct
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...envs import PacError, Task
from ..core.errors import BackendBusy, ProtocolError
from ..servers.hosting import EnvironmentServer, HostedEnvironment
from ..system.cores import usable_cores
from ..workers.control import LONG_SPIN, Link, SpinWait
from .protocol import (
    ANY,
    EPISODE,
    HEADER,
    HELLO_REQ,
    LOOK,
    VERSION,
    Code,
    FrameKind,
    FrameSizes,
    SocketFrame,
    error_frame,
    frame,
    greeting,
    parse,
    spaces,
)
from .responses import Responses

MOST_VIEWS = 512
"""Views sent in one call; systems allow 1,024."""


class Connection:
    """One client, and its environment once a request needed one.

    Args:
        selector: The selector that waits for it.

    Attributes:
        answers: Encodes the answers of its environment.
        unread: Bytes of an incomplete frame.
        unsent: Bytes that the client has not received; until then no request is read.
        records: Whether it sent HELLO_REQ and gets RECORDs.
        boards: Whether it gets BOARDs.
        closing: Whether to close when everything is sent.
    """

    def __init__(self, wire: socket.socket, selector: selectors.BaseSelector) -> None:
        self.wire, self._selector = wire, selector
        self.answers: Responses | None = None
        self.unread = self.unsent = b""
        self.records = self.boards = self.closing = False
        wire.setblocking(False)
        selector.register(wire, selectors.EVENT_READ, self)

    def send(self, *views: bytes | memoryview) -> None:
        """Send views of bytes; keep those that the client does not receive now."""
        sent = 0
        if not self.unsent:
            try:
                sent = self.wire.sendmsg(views[:MOST_VIEWS])
            except BlockingIOError:
                pass
            except OSError:
                self.closing = True
                return
        if sent < sum(map(len, views)):
            self.unsent += b"".join(views)[sent:]
            self._selector.modify(self.wire, selectors.EVENT_WRITE, self)

    def flush(self) -> None:
        """Send unsent bytes; when all are sent, read requests again."""
        try:
            self.unsent = self.unsent[self.wire.send(self.unsent) :]
        except BlockingIOError:
            return
        except OSError:
            self.unsent, self.closing = b"", True
        if not self.unsent:
            self._selector.modify(self.wire, selectors.EVENT_READ, self)

    def close(self) -> None:
        """Close the connection immediately."""
        self._selector.unregister(self.wire)
        self.wire.close()


CHUNK = 1 << 16
"""Bytes read at once."""
NO_RESOURCES = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}
ACCEPT_PAUSE = 0.5
"""Time without accepting connections after there was no file descriptor or memory for one, in s."""
SPARE = 16
"""Connections accepted in addition to one per environment, for health and spaces."""

log = logging.getLogger(__name__)


class SocketServer(EnvironmentServer):
    """Serves environments `lo..hi` of a run.

    Args:
        listener: A bound socket.
        lo: First environment.
        hi: One past the last.
        seed: The seed of connections without HELLO_REQ.
        link: The fleet that the server is a worker of.
    """

    def __init__(
        self, task: Task, listener: socket.socket, lo: int, hi: int, seed: int, *, link: Link | None = None
    ) -> None:
        super().__init__(task, lo, hi, seed, link)
        self._sizes = FrameSizes(task)
        self._unpack = struct.Struct(f"<{task.players}i").unpack
        self._patience = link.patience if link else SpinWait(LONG_SPIN if usable_cores() > 1 else 0)
        self._used: set[int] = set()
        self._free = {host.env for host in self._hosts}
        self._listener, self._selector = listener, selectors.DefaultSelector()
        self._open: set[Connection] = set()
        self._chunk = bytearray(CHUNK)
        self._view = memoryview(self._chunk)
        listener.setblocking(False)
        self._listen()
        self._handlers: dict[int, Callable[[Connection, SocketFrame], None]] = {
            FrameKind.STEP_REQ: self._step,
            FrameKind.STEP_MULTI_REQ: self._step,
            FrameKind.RESET_REQ: self._reset,
            FrameKind.OBSERVE_REQ: self._observe,
            FrameKind.HEALTH_REQ: lambda one, asked: one.send(frame(FrameKind.HEALTH_RESP, asked.ident, b"\x01")),
            FrameKind.SPACES_REQ: lambda one, asked: one.send(frame(FrameKind.SPACES_RESP, asked.ident, spaces(task))),
            FrameKind.HELLO_REQ: self._hello,
            FrameKind.LOOK: self._look,
            FrameKind.STATE: self._go_on,
        }

    def turn(self, seconds: float) -> bool:
        """Wait at most `seconds` for requests and answer them; return whether any came."""
        if self._resume_at and time.monotonic() >= self._resume_at:
            self._listen()
        ready = self._selector.select(0) or self._wait(seconds)
        if len(ready) > 1:  # in the order of the environments
            ready.sort(key=_env_of)
        for key, events in ready:
            if key.data is None:
                self._accept()
                continue
            if events & selectors.EVENT_WRITE:
                self._flush(key.data)
            if events & selectors.EVENT_READ:
                self._read(key.data)
        return bool(ready)

    def _wait(self, seconds: float) -> list[tuple[selectors.SelectorKey, int]]:
        """Yield, if the last request came soon, then block."""
        begun = time.monotonic_ns()
        if self._patience.wait_until(lambda: self._selector.select(0)):
            return self._selector.select(0)
        ready = self._selector.select(seconds)
        self._patience.learn(time.monotonic_ns() - begun)
        return ready

    def close(self) -> None:
        """Close every connection and every environment."""
        for one in tuple(self._open):
            self._drop(one)
        self._close_hosts()
        self._selector.close()
        self._listener.close()

    def _listen(self) -> None:
        self._resume_at = 0.0
        self._selector.register(self._listener, selectors.EVENT_READ, None)

    def _accept(self) -> None:
        try:
            wire, _ = self._listener.accept()
        except OSError as error:
            if error.errno in NO_RESOURCES:  # the connection stays in the backlog, so `select` would return at once
                self._selector.unregister(self._listener)
                self._resume_at = time.monotonic() + ACCEPT_PAUSE
            return
        one = Connection(wire, self._selector)
        self._open.add(one)
        if len(self._open) > len(self._hosts) + SPARE:
            self._refuse(one, 0, Code.BUSY, f"{len(self._open) - 1} connections are open; close one of them")

    def _read(self, one: Connection) -> None:
        try:
            count = one.wire.recv_into(self._chunk)
        except BlockingIOError:
            return
        except OSError:
            count = 0
        if count == 0:
            self._drop(one)
            return
        data = self._view[:count]
        if one.unread:
            data = memoryview(one.unread + bytes(data))
        self._parse(one, data)

    def _parse(self, one: Connection, data: memoryview) -> None:
        """Answer the frames of `data`, and keep the incomplete one."""
        at, requests = 0, self._sizes.requests
        while at < len(data) and not one.closing and not one.unsent:
            ident = 0
            try:
                asked = parse(data, requests, at)
                if asked is None:
                    break
                ident = asked.ident
                at += HEADER.size + len(asked.body)
                self._handlers[asked.kind](one, asked)
            except ProtocolError as error:
                self._refuse(one, ident, error.code, str(error))
            except BackendBusy as error:
                self._refuse(one, ident, Code.OUT_OF_TURN, str(error))
            except Exception as error:
                # An invalid value is the client's error, and nothing was stepped.
                if isinstance(error, PacError) and isinstance(error, ValueError):
                    one.send(error_frame(ident, Code.REFUSED, str(error)))
                else:
                    self._fail(one, ident, error)
        one.unread = b"" if one.closing else bytes(data[at:])

    def _step(self, one: Connection, asked: SocketFrame) -> None:
        multi = asked.kind == FrameKind.STEP_MULTI_REQ
        answers = one.answers or self._claim(one, ANY, None)
        if not multi and self._task.players > 1:
            raise ProtocolError(
                Code.MALFORMED, f"{self._task.name} has {self._task.players} seats; step them with STEP_MULTI_REQ"
            )
        begun = time.monotonic_ns()
        answers.host.step(self._actions_of(asked.body))
        took = time.monotonic_ns() - begun
        kind = FrameKind.STEP_MULTI_RESP if multi else FrameKind.STEP_RESP
        one.send(*answers.results(kind, asked.ident, took, record=one.records, board=one.boards))
        self.steps += 1
        self._beat()

    def _actions_of(self, body: memoryview) -> Sequence[Any]:
        task = self._task
        if not task.action.shape:
            return self._unpack(body)
        actions: list[Any] = np.frombuffer(body, self._sizes.action).reshape(task.players, *task.action.shape).tolist()
        return actions

    def _reset(self, one: Connection, asked: SocketFrame) -> None:
        answers = one.answers or self._claim(one, ANY, None)
        begun = time.monotonic_ns()
        answers.host.reset()
        took = time.monotonic_ns() - begun
        one.send(*answers.results(FrameKind.RESET_RESP, asked.ident, took, record=one.records, board=one.boards))
        self._beat()

    def _observe(self, one: Connection, asked: SocketFrame) -> None:
        answers = one.answers or self._claim(one, ANY, None)
        one.send(answers.observation(asked.ident))

    def _hello(self, one: Connection, asked: SocketFrame) -> None:
        version, env, seed = HELLO_REQ.unpack(asked.body)
        if version != VERSION:
            raise ProtocolError(Code.VERSION, f"expected version {VERSION} of the protocol, got {version}")
        host = self._claim(one, env, seed).host
        one.records, one.boards = True, self._sizes.always_drawn and self._sizes.board > 0
        host.request_boards(watched=False)
        one.send(frame(FrameKind.HELLO_RESP, asked.ident, greeting(self._task, self._sizes, host.env, seed)))

    def _look(self, one: Connection, asked: SocketFrame) -> None:
        host = self._greeted(one)
        (watched,) = LOOK.unpack(asked.body)
        one.boards = watched != 0
        host.request_boards(watched=one.boards)

    def _go_on(self, one: Connection, asked: SocketFrame) -> None:
        host = self._greeted(one)
        (episode,) = EPISODE.unpack_from(asked.body)
        host.go_on(episode, asked.body[EPISODE.size :])

    def _greeted(self, one: Connection) -> HostedEnvironment:
        if not one.records or one.answers is None:
            raise ProtocolError(Code.OUT_OF_TURN, "HELLO_REQ must come before LOOK and STATE")
        return one.answers.host

    def _claim(self, one: Connection, env: int, seed: int | None) -> Responses:
        own = one.answers.host.env if one.answers else None
        wanted = env if env != ANY else min(self._free, default=ANY) if own is None else own
        if wanted != own:
            if wanted not in self._free:
                which = f"environment {env}" if env != ANY else f"any of {len(self._hosts)} environments"
                raise ProtocolError(Code.BUSY, f"{which} is not served here, or not free")
            self._release(one)
            self._free.discard(wanted)
        host = self._hosts[wanted - self._lo]
        if wanted in self._used or (seed is not None and seed != host.seed):
            host.recreate(self._seed if seed is None else seed)
        self._used.add(wanted)
        one.answers = Responses(host, self._sizes)
        return one.answers

    def _release(self, one: Connection) -> None:
        if one.answers is not None:
            self._free.add(one.answers.host.env)
            one.answers = None

    def _fail(self, one: Connection, ident: int, error: Exception) -> None:
        """Send that an environment failed; it is made again for its next client."""
        if self._link:
            raise error
        log.warning("%s", error, exc_info=error)
        self._refuse(one, ident, Code.FAILED, str(error))

    def _refuse(self, one: Connection, ident: int, code: int, text: str) -> None:
        """Send an ERROR, and close the connection after it."""
        one.closing = True
        one.send(error_frame(ident, code, text))
        if not one.unsent:
            self._drop(one)

    def _flush(self, one: Connection) -> None:
        one.flush()
        if not one.unsent and one.closing:
            self._drop(one)
        elif not one.unsent:
            self._parse(one, memoryview(one.unread))

    def _drop(self, one: Connection) -> None:
        if one in self._open:
            self._open.discard(one)
            one.close()
            self._release(one)


def _env_of(ready: tuple[selectors.SelectorKey, int]) -> int:
    one: Connection | None = ready[0].data
    return -1 if one is None or one.answers is None else one.answers.host.env
