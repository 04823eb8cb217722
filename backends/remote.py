"""Environments of a running server, in any language, over the binary protocol."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..envs import Task
from ..envs.fields import DECIDES, Array
from .core.base import Backend
from .core.errors import BackendBroken, BackendTimeout, BackendUnavailable, ProtocolError
from .core.layout import Buffer, Layout
from .core.status import WorkerState, WorkerStatus
from .servers.exchange import Exchange
from .servers.hosting import STILL
from .socket_backend.client import SocketConnections
from .socket_backend.protocol import ANY, HELLO_REQ, NUMBERS, Code, FrameKind, error_of, frame, spaces

NO_VERSION = 0


class RemoteBackend(Backend):
    """One connection per environment to the server at `address`, which is not restarted if it fails.

    A server of this program gets the seed and serves environments 0 to N - 1. Another one may know only the plain
    types: then it uses its own seed, and returns, lengths and episodes are counted here.

    Args:
        task: The task that is served there.
        num_envs: Number of environments N.
        address: The path of its socket.
        **options: Those of every backend.
    """

    name: ClassVar[str] = "remote"
    shares_state: ClassVar[bool] = False

    def __init__(self, task: Task, num_envs: int, address: Path | str, **options: Any) -> None:
        self.address = Path(address)
        super().__init__(task, num_envs, **options)

    def _open(self) -> None:
        self._steps, self._slot, self._beat = 0, 0, time.monotonic()
        self._connections = SocketConnections(self.task, self.buffer)
        self._counter: EpisodeCounter | None = None
        try:
            self._greet()
        except (OSError, ProtocolError, BackendTimeout) as error:
            self._connections.close()
            raise BackendUnavailable(
                f"{self.address} cannot serve {self.environments} x {self.task.spec}: {error}"
            ) from error
        self._exchange = Exchange(self._connections, np.arange(self.environments), self._miss)

    def _greet(self) -> None:
        """Connect to a server of this program, or with the plain types to another one."""
        if not self._knows_extensions():
            self._connections.close()
            self._connections = SocketConnections(self.task, self.buffer, plain=True)
            self._counter = EpisodeCounter(self.task, self.buffer)
        for env in range(self.environments):
            self._connections.connect(env, self.address, self.seed, self.timeout)

    def _knows_extensions(self) -> bool:
        """Whether the server knows all types; others ignore HELLO_REQ or close the connection.

        Raises:
            ProtocolError: It serves another task or protocol.
        """
        with closing(SocketConnections(self.task, Layout(self.task, 1).map(), plain=True)) as probe:
            probe.connect(0, self.address, 0, self.timeout)
            probe.send(0, frame(FrameKind.SPACES_REQ, 1))
            found = bytes(probe.next_frame(0, self.timeout).body)
            if found != spaces(self.task):
                raise ProtocolError(
                    Code.VERSION, f"expected {spaces(self.task).hex()} as answer to SPACES_REQ, got {found.hex()}"
                )
            # Version 0 is refused by servers that know HELLO_REQ, and occupies no environment.
            probe.send(
                0, frame(FrameKind.HELLO_REQ, 2, HELLO_REQ.pack(NO_VERSION, ANY, 0)) + frame(FrameKind.HEALTH_REQ, 3)
            )
            try:
                answer = probe.next_frame(0, self.timeout)
            except (OSError, ProtocolError):
                return False
            return answer.kind == FrameKind.ERROR and error_of(answer.body).code == Code.VERSION

    def _reset(self, mask: NDArray[np.bool_], slot: int) -> None:
        envs = np.flatnonzero(mask)
        self._exchange.reset(envs.tolist(), slot, self.timeout)
        if self._counter:
            self._counter.begin(slot, envs, self._connections.numbers())

    def _reseed(self, seed: int) -> None:
        if self._counter:
            raise BackendBroken(f"the server at {self.address} accepts no seed; restart it with another seed")
        self.buffer.reset_episodes()
        for env in range(self.environments):
            self._connections.greet(env, seed, self.timeout)

    def _begin(self, slot: int) -> None:
        self._slot = slot
        self._exchange.send_step(list(range(self.environments)), slot)

    def _finish(self, timeout: float) -> None:
        exchange, into = self._exchange, self.buffer.order.next(self._slot)
        exchange.collect(timeout)
        if not exchange.step_done:
            self.busy_seconds += exchange.finish_step(into)
            if self._counter:
                self._counter.step(into, np.flatnonzero(self._connections.ended), self._connections.numbers())
        exchange.finish_resets(into, timeout)
        self._steps += 1
        self._beat = time.monotonic()

    def _miss(self, _env: int, gone: bool, late: bool) -> None:
        """Raise an error: this backend cannot restart the server."""
        if gone:
            raise BackendBroken(f"the server at {self.address} closed a connection; start it again")
        if late:
            raise BackendTimeout(f"the server at {self.address} did not answer within the limit; wait again")

    def _stop(self) -> None:
        self._exchange.close()

    @property
    def workers(self) -> Sequence[WorkerStatus]:
        """The server; only its steps and heartbeat are known."""
        age = time.monotonic() - self._beat
        return (WorkerStatus(0, os.getpid(), 0, self.environments, WorkerState.READY, self._steps, age),)


class EpisodeCounter:
    """Counts what a server with only the plain types does not send: returns, lengths and episodes.

    An episode's outcome is known only in tasks whose outcomes are `terminated` and `truncated`. Reward terms, boards
    and states are not known.
    """

    def __init__(self, task: Task, buffer: Buffer) -> None:
        self._buffer = buffer
        self._numbers = [item.name for item in task.info if item.name in NUMBERS]
        self._still = [name for name in STILL if name in buffer]
        self._tells = [outcome.name for outcome in task.outcomes] == ["terminated", "truncated"]
        self._returns = np.zeros((buffer.num_envs, task.players), np.float32)
        self._lengths = np.zeros(buffer.num_envs, np.int32)

    def begin(self, slot: int, envs: NDArray[np.intp], numbers: Mapping[str, NDArray[np.int64]]) -> None:
        """Start episodes of `envs`."""
        for name in self._still:
            self._of_envs(name, slot)[envs] = 0
        self._of_envs("active", slot)[envs] = DECIDES
        for name in self._numbers:
            self._write(name, slot, envs, numbers[name])
        self._turn(envs)

    def step(self, slot: int, ended: NDArray[np.intp], numbers: Mapping[str, NDArray[np.int64]]) -> None:
        """Count a step of all environments; the episodes of `ended` ended with it."""
        buffer = self._buffer
        self._returns += buffer["reward"][slot].reshape(self._returns.shape)
        self._lengths += 1
        buffer["episode_return"][slot] = self._returns.reshape(-1)
        buffer["episode_length"][slot] = self._lengths
        buffer["active"][slot], buffer["frames"][slot], buffer["outcome"][slot] = DECIDES, 1, 0
        buffer["heartbeat"][0] += np.uint64(1)
        for name in self._numbers:
            self._write(name, slot, np.arange(buffer.num_envs), numbers[name])
        if self._tells:
            buffer["outcome"][slot, ended] = numbers["done"][ended, 0]
        self._turn(ended)

    def _write(self, name: str, slot: int, envs: NDArray[np.intp], numbers: NDArray[np.int64]) -> None:
        """Write the numbers of all seats, or of the first one for fields per environment."""
        into = self._buffer[name][slot].reshape(len(self._lengths), -1)
        into[envs] = numbers[envs, : into.shape[1]]

    def _turn(self, envs: NDArray[np.intp]) -> None:
        self._returns[envs] = 0
        self._lengths[envs] = 0
        self._buffer["episode"][0, envs] += 1

    def _of_envs(self, name: str, slot: int) -> Array:
        rows: Array = self._buffer[name][slot]
        return rows if len(rows) == len(self._lengths) else rows.reshape(len(self._lengths), -1, *rows.shape[1:])
