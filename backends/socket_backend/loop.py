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

from ...envs import PacError, Task, allocate
from ..core.errors import BackendBusy, ProtocolError
from ..servers.hosting import HostedEnvironment
from ..system.cores import usable_cores
from ..workers.control import LONG_SPIN, SpinWait
from .connection import Connection
from .protocol import (
    ANY,
    EPISODE,
    HEADER,
    HELLO_REQ,
    LOOK,
    VERSION,
    Code,
    Frame,
    Kind,
    Sizes,
    error_frame,
    frame,
    greeting,
    parse,
    spaces,
)
from .responses import Responses

CHUNK = 1 << 16
"""Bytes read at once."""
NO_RESOURCES = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}
ACCEPT_PAUSE = 0.5
"""Time without accepting connections after there was no file descriptor or memory for one, in s."""
SPARE = 16
"""Connections accepted in addition to one per environment, for health and spaces."""

log = logging.getLogger(__name__)


class SocketServer:
    """Serves environments `lo..hi` of a run.

    Args:
        task: The task.
        listener: A bound socket.
        lo: First environment.
        hi: One past the last.
        seed: The seed of connections without HELLO_REQ.
        patience: Decides how long it yields before it blocks; by the number of cores if None.
        beat: Called after every reset and step.
        raises: Whether a failed environment ends the server instead of its connection.

    Attributes:
        steps: Number of steps of all environments.
    """

    def __init__(
        self,
        task: Task,
        listener: socket.socket,
        lo: int,
        hi: int,
        seed: int,
        *,
        patience: SpinWait | None = None,
        beat: Callable[[], None] = lambda: None,
        raises: bool = False,
    ) -> None:
        self._task, self._lo, self._seed, self._beat, self._raises = task, lo, seed, beat, raises
        self._sizes = Sizes(task)
        self._unpack = struct.Struct(f"<{task.players}i").unpack
        self.steps = 0
        self._patience = patience or SpinWait(LONG_SPIN if usable_cores() > 1 else 0)
        buffers = allocate(task, hi)
        self._hosts = [HostedEnvironment(task, env, seed, buffers) for env in range(lo, hi)]
        self._fresh = [True] * len(self._hosts)
        self._free = set(range(len(self._hosts)))
        self._listener, self._selector = listener, selectors.DefaultSelector()
        self._open: set[Connection] = set()
        self._chunk = bytearray(CHUNK)
        self._view = memoryview(self._chunk)
        listener.setblocking(False)
        self._listen()
        self._handlers: dict[int, Callable[[Connection, Frame], None]] = {
            Kind.STEP_REQ: self._step,
            Kind.STEP_MULTI_REQ: self._step,
            Kind.RESET_REQ: self._reset,
            Kind.OBSERVE_REQ: self._observe,
            Kind.HEALTH_REQ: lambda one, asked: one.say(frame(Kind.HEALTH_RESP, asked.ident, b"\x01")),
            Kind.SPACES_REQ: lambda one, asked: one.say(frame(Kind.SPACES_RESP, asked.ident, spaces(task))),
            Kind.HELLO_REQ: self._hello,
            Kind.LOOK: self._look,
            Kind.STATE: self._go_on,
        }

    def turn(self, seconds: float) -> bool:
        """Wait at most `seconds` for requests and answer them; return whether any came."""
        if self._resume_at and time.monotonic() >= self._resume_at:
            self._listen()
        ready = self._selector.select(0) or self._wait(seconds)
        if len(ready) > 1:  # in the order of the environments
            ready.sort(key=_order)
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
        for host in self._hosts:
            host.close()
        self._selector.close()
        self._listener.close()

    def _listen(self) -> None:
        """Accept connections from now on."""
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
                    one.say(error_frame(ident, Code.REFUSED, str(error)))
                else:
                    self._fail(one, ident, error)
        one.unread = b"" if one.closing else bytes(data[at:])

    def _step(self, one: Connection, asked: Frame) -> None:
        multi = asked.kind == Kind.STEP_MULTI_REQ
        host = one.host or self._claim(one, ANY, None)
        if not multi and self._task.players > 1:
            raise ProtocolError(
                Code.MALFORMED, f"{self._task.name} has {self._task.players} seats; step them with STEP_MULTI_REQ"
            )
        begun = time.monotonic_ns()
        host.step(self._actions_of(asked.body))
        took = time.monotonic_ns() - begun
        self._answer(one, Kind.STEP_MULTI_RESP if multi else Kind.STEP_RESP, asked.ident, took)
        self.steps += 1
        self._beat()

    def _actions_of(self, body: memoryview) -> Sequence[Any]:
        task = self._task
        if not task.action.shape:
            return self._unpack(body)
        actions: list[Any] = np.frombuffer(body, self._sizes.action).reshape(task.players, *task.action.shape).tolist()
        return actions

    def _reset(self, one: Connection, asked: Frame) -> None:
        host = one.host or self._claim(one, ANY, None)
        begun = time.monotonic_ns()
        host.reset()
        self._answer(one, Kind.RESET_RESP, asked.ident, time.monotonic_ns() - begun)
        self._beat()

    def _answer(self, one: Connection, kind: Kind, ident: int, took: int) -> None:
        assert one.answers is not None
        one.say(*one.answers.results(kind, ident, took, record=one.records, board=one.boards))

    def _observe(self, one: Connection, asked: Frame) -> None:
        host = one.host or self._claim(one, ANY, None)
        host.observe()
        assert one.answers is not None
        one.say(one.answers.observation(asked.ident))

    def _hello(self, one: Connection, asked: Frame) -> None:
        version, env, seed = HELLO_REQ.unpack(asked.body)
        if version != VERSION:
            raise ProtocolError(Code.VERSION, f"expected version {VERSION} of the protocol, got {version}")
        host = self._claim(one, env, seed)
        one.records, one.boards = True, self._sizes.always_drawn and self._sizes.board > 0
        host.request_boards(watched=False)
        one.say(frame(Kind.HELLO_RESP, asked.ident, greeting(self._task, self._sizes, host.env, seed)))

    def _look(self, one: Connection, asked: Frame) -> None:
        host = self._greeted(one)
        (watched,) = LOOK.unpack(asked.body)
        one.boards = watched != 0
        host.request_boards(watched=one.boards)

    def _go_on(self, one: Connection, asked: Frame) -> None:
        host = self._greeted(one)
        (episode,) = EPISODE.unpack_from(asked.body)
        host.go_on(episode, asked.body[EPISODE.size :])

    def _greeted(self, one: Connection) -> HostedEnvironment:
        if not one.records or one.host is None:
            raise ProtocolError(Code.OUT_OF_TURN, "HELLO_REQ must come before LOOK and STATE")
        return one.host

    def _claim(self, one: Connection, env: int, seed: int | None) -> HostedEnvironment:
        """Assign an environment to a connection, with no episode begun."""
        wanted = env - self._lo if env != ANY else one.place if one.place is not None else min(self._free, default=ANY)
        if wanted != one.place:
            if wanted not in self._free:
                which = f"environment {env}" if env != ANY else f"any of {len(self._hosts)} environments"
                raise ProtocolError(Code.BUSY, f"{which} is not served here, or not free")
            self._release(one)
            self._free.discard(wanted)
        assert wanted != ANY
        host = self._hosts[wanted]
        if not self._fresh[wanted] or (seed is not None and seed != host.seed):
            host.recreate(self._seed if seed is None else seed)
        self._fresh[wanted] = False
        one.place, one.host, one.answers = wanted, host, Responses(host, self._sizes)
        return host

    def _release(self, one: Connection) -> None:
        if one.place is not None:
            self._free.add(one.place)
            one.place = one.host = one.answers = None

    def _fail(self, one: Connection, ident: int, error: Exception) -> None:
        """Send that an environment failed; it is made again for its next client."""
        if self._raises:
            raise error
        log.warning("%s", error, exc_info=error)
        self._refuse(one, ident, Code.FAILED, str(error))

    def _refuse(self, one: Connection, ident: int, code: int, text: str) -> None:
        """Send an ERROR, and close the connection after it."""
        one.closing = True
        one.say(error_frame(ident, code, text))
        if not one.unsent:
            self._drop(one)

    def _flush(self, one: Connection) -> None:
        one.flush()
        if one.unsent:
            return
        if one.closing:
            self._drop(one)
            return
        self._parse(one, memoryview(one.unread))

    def _drop(self, one: Connection) -> None:
        """Close a connection and free its environment."""
        if one in self._open:
            self._open.discard(one)
            one.close()
            self._release(one)


def _order(ready: tuple[selectors.SelectorKey, int]) -> int:
    one: Connection | None = ready[0].data
    return -1 if one is None or one.place is None else one.place
