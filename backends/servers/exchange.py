"""Requests to environments behind connections: resets, and steps with the resets of episodes that ended."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...envs import Task
from ..core.layout import Buffer


class Connections(ABC):
    """One connection per environment of a buffer.

    Args:
        buffer: The buffer for the answers.

    Attributes:
        ended: Of which environments the last answer ended an episode, `(N,)`.
        took: Time that each environment took for its last answer, in ns, `(N,)`.
    """

    def __init__(self, task: Task, buffer: Buffer) -> None:
        self._task, self._count, self._buffer = task, buffer.num_envs, buffer
        self._wires: list[Any] = [None] * self._count
        self.ended, self.took = np.zeros(self._count, np.uint8), np.zeros(self._count, np.uint64)

    def connected(self, env: int) -> bool:
        """Return whether an environment has a connection."""
        return self._wires[env] is not None

    def drop(self, env: int) -> None:
        """Close an environment's connection, if it has one."""
        wire, self._wires[env] = self._wires[env], None
        self.took[env] = self.ended[env] = 0
        if wire is not None:
            wire.close()

    def close(self) -> None:
        """Close all connections."""
        for env in range(self._count):
            self.drop(env)

    def _wire(self, env: int) -> Any:
        wire = self._wires[env]
        assert wire is not None, "request to an environment without a connection"
        return wire

    @abstractmethod
    def greet(self, env: int, seed: int, timeout: float) -> None:
        """Make a connected environment again with another seed."""

    @abstractmethod
    def send_reset(self, envs: list[int]) -> None:
        """Request the next episode of environments."""

    @abstractmethod
    def send_step(self, envs: list[int], slot: int) -> None:
        """Request a step of environments with the actions of `slot`."""

    @abstractmethod
    def send_board_requests(self) -> None:
        """Send which environments should draw boards, where that has changed."""

    @abstractmethod
    def receive(self, env: int) -> bool:
        """Receive an environment's answer; return whether it is complete, False after `LOOK` s without data.

        Raises:
            OSError: The connection is closed, or the server failed.
            BackendBroken: The answer is malformed, or another one was expected.
            BadParameter: The environment refused the request.
        """

    @abstractmethod
    def answered(self, env: int) -> bool:
        """Return whether any part of the answer has arrived, read or unread."""

    @abstractmethod
    def decode(self, slot: int, envs: NDArray[np.intp] | None = None) -> None:
        """Write the received answers of all environments, or of `envs`, into `slot`."""

    @abstractmethod
    def decode_final(self, slot: int, envs: NDArray[np.intp]) -> None:
        """Write the observations of answers that ended episodes into `final_observation`, and requested last boards."""

    @abstractmethod
    def decode_first(self, slot: int, envs: NDArray[np.intp]) -> None:
        """Write only the observations, masks and boards of new episodes."""


Missed = Callable[[int, bool, bool], None]
"""Called with an environment that has not answered, whether its connection is closed, and whether its time is over.
It raises an error, calls `drop`, or returns to continue waiting."""


class Exchange:
    """The pending requests.

    Args:
        starts: The first environment of each server. A server's environments take turns.
        missed: Called when an answer does not come.

    Attributes:
        pending: The environments that have not answered; the next one to wait for comes last.
        step_done: Whether all results of the step are written, and only first observations are missing.
    """

    def __init__(self, connections: Connections, starts: NDArray[np.intp], missed: Missed) -> None:
        self._connections, self._starts, self._missed = connections, starts, missed
        self._ended: list[int] = []
        self.pending: list[int] = []
        self.step_done = False

    def reset(self, envs: list[int], slot: int, timeout: float) -> None:
        """Start the next episode of some environments, wait at most `timeout` s, and write it into `slot`."""
        self._connections.send_board_requests()
        self.pending = envs[::-1]
        self._connections.send_reset(envs)
        self.collect(timeout)
        self._connections.decode(slot, self._connected(envs))

    def send_step(self, envs: list[int], slot: int) -> None:
        """Request a step of environments with the actions of `slot`."""
        self.step_done, self._ended = False, []
        self._connections.send_board_requests()
        self.pending = envs[::-1]
        self._connections.send_step(envs, slot)

    def collect(self, timeout: float) -> None:
        """Wait for all pending answers, at most `timeout` s.

        Raises:
            BadParameter: An environment refused the request.
        """
        receive, end = self._connections.receive, 0.0
        while self.pending:
            env = self.pending[-1]
            try:
                if receive(env):
                    self.pending.pop()
                    continue
                gone = False
            except OSError:
                gone = True
            now = time.monotonic()
            end = end or now + timeout
            self._missed(env, gone, now > end)

    def drop(self, lo: int, hi: int) -> None:
        """Close the connections of environments `lo..hi`, and wait for none of their answers."""
        for env in range(lo, hi):
            self._connections.drop(env)
        self.pending = [env for env in self.pending if not lo <= env < hi]

    def finish_step(self, slot: int, envs: NDArray[np.intp] | None = None) -> float:
        """Write the answers of all environments or of `envs` into `slot`, and request new episodes where one ended.

        Returns:
            The time that the environments of the slowest server took, in s.
        """
        connections, self.step_done = self._connections, True
        connections.decode(slot, envs)
        took = connections.took
        slowest = np.add.reduceat(took, self._starts).max() if len(took) > 1 else took[0]
        if b"\x01" in connections.ended.tobytes():
            ended = np.flatnonzero(connections.ended)
            connections.decode_final(slot, ended)
            self._ended = ended.tolist()
            self.pending = self._ended[::-1]
            connections.send_reset(self._ended)
        return int(slowest) * 1e-9

    def finish_resets(self, slot: int, timeout: float) -> None:
        """Wait for the first observations of new episodes, and write them into `slot`."""
        if self._ended:
            self.collect(timeout)
            self._connections.decode_first(slot, self._connected(self._ended))

    def close(self) -> None:
        """Close the connections, and release `missed`, which holds a reference to the buffer."""
        self._connections.close()
        del self._missed

    def _connected(self, envs: list[int]) -> NDArray[np.intp]:
        return np.array([env for env in envs if self._connections.connected(env)], np.intp)
