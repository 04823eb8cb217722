"""Backends whose environments live in server processes and are asked by message, over a connection each."""

from __future__ import annotations

import resource
import subprocess
import time
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from ..envs import BadParameter, next_slot
from .control import CLOSE
from .errors import BackendTimeout, Failure, ProtocolError
from .layout import Buffer, Layout
from .member import Member, kill
from .protocol import Code
from .supervised import SupervisedBackend

GRACE = 1.0
"""Seconds that a server has to end once it closed a connection."""
OTHER_FILES = 256
"""Files that a process has open besides its connections."""


class Lines(Protocol):
    """One connection per environment of a buffer.

    Attributes:
        ended: Which environments' last answer was the last of an episode, `(N,)`.
        took: Nanoseconds that each environment took for it, `(N,)`.
    """

    ended: NDArray[np.uint8]
    took: NDArray[np.uint64]

    def greet(self, env: int, seed: int, timeout: float) -> None:
        """Begin a connected environment anew with another seed."""

    def connected(self, env: int) -> bool:
        """Whether an environment has a connection."""

    def drop(self, env: int) -> None:
        """Close an environment's connection, if it has one."""

    def close(self) -> None:
        """Close all connections."""

    def ask_reset(self, envs: list[int]) -> None:
        """Ask environments for their next episode."""

    def ask_step(self, envs: list[int], slot: int) -> None:
        """Ask environments for a step by the actions of `slot`."""

    def tell_looks(self) -> None:
        """Tell the environments whether somebody looks at them, where that has changed."""

    def receive(self, env: int) -> bool:
        """Receive an environment's answer; return whether it is whole, False after some silence.

        Raises:
            OSError: The connection is gone.
            ProtocolError: Something else came.
            BadParameter: The environment refuses what it was asked for.
        """

    def answered(self, env: int) -> bool:
        """Whether something of the answer came, received or not."""

    def decode(self, slot: int, envs: NDArray[np.intp] | None = None) -> None:
        """Write the received answers of all environments, or of `envs`, into `slot`."""

    def decode_last(self, slot: int, envs: NDArray[np.intp]) -> None:
        """Write the observations of answers that ended episodes as final ones."""

    def decode_first(self, slot: int, envs: NDArray[np.intp]) -> None:
        """Write the observations and masks with which episodes begin, and nothing else."""


class ServedBackend(SupervisedBackend):
    """Servers of this program's own, one per worker, and a connection for every environment.

    A subclass makes its lines in `_open` and hands them to `_open_lines`.
    """

    shares_state: ClassVar[bool] = False
    _lines: Lines

    @classmethod
    def unavailable(cls, layout: Layout) -> str:
        """Return by how many connections the system's limit of open files is too low; raises this process's own."""
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = layout.num_envs + OTHER_FILES
        if soft == resource.RLIM_INFINITY or soft >= wanted:
            return ""
        if hard != resource.RLIM_INFINITY and hard < wanted:
            return f"it needs {wanted:,} open files and {hard:,} are allowed; raise the limit with ulimit -n"
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        return ""

    @abstractmethod
    def _connect(self, member: Member) -> None:
        """Connect to a server that is ready."""

    def _open_lines(self, target: str, told: Sequence[Mapping[str, Any]], lines: Lines, buffer: Buffer) -> None:
        """Start one server for each of `told` and connect its environments."""
        self._lines = lines
        self._chosen = np.zeros(self.environments, np.bool_)
        self._start_fleet(target, told, buffer)
        self._starts = np.array([lo for lo, _ in self._spans()])
        self._pending: list[int] = []
        self._ended: list[int] = []
        self._turned = False
        self._order = 0
        try:
            for member in self._fleet.members:
                self._connect(member)
        except BaseException:
            self._stop()
            raise
        self._gather()

    def _gather(self) -> None:
        away = [member.span for member in self._members_away()]
        self._present = [env for env in range(self.environments) if not any(lo <= env < hi for lo, hi in away)]
        self._rows = np.array(self._present, np.intp) if away else None

    def _begin(self, slot: int) -> None:
        self._order, self._turned, self._ended = slot, False, []
        if self._away:
            self._call_back(slot)
        lines = self._lines
        lines.tell_looks()
        self._pending = self._present[::-1]
        lines.ask_step(self._present, slot)

    def _finish(self, timeout: float | None) -> None:
        slot, lines = self._order, self._lines
        into = next_slot(slot, self.slots)
        self._collect(slot, timeout)
        if not self._turned:
            lines.decode(into, self._rows)
            took = lines.took
            slowest = np.add.reduceat(took, self._starts).max() if len(took) > 1 else took[0]
            self.busy_seconds += int(slowest) * 1e-9
            self._turned = True
            if b"\x01" in lines.ended.tobytes():
                self._ask_next(into)
        if self._ended:
            self._collect(slot, timeout)
            lines.decode_first(into, np.array([env for env in self._ended if lines.connected(env)], np.intp))
        if self._away:
            self._fill(slot)

    def _ask_next(self, slot: int) -> None:
        """Keep the last observations of what ended, and ask for the next episodes."""
        ended = np.flatnonzero(self._lines.ended)
        self._lines.decode_last(slot, ended)
        self._ended = ended.tolist()
        self._pending = self._ended[::-1]
        self._lines.ask_reset(self._ended)

    def _collect(self, slot: int, timeout: float | None) -> None:
        """Wait for the answers of all pending environments."""
        receive, end, looked = self._lines.receive, 0.0, -1
        while self._pending:
            env = self._pending[-1]
            try:
                if receive(env):
                    self._pending.pop()
                    continue
                gone = False
            except OSError:
                gone = True
            except ProtocolError as error:
                raise BadParameter(str(error)) if error.code == Code.REFUSED else error from None
            member = self._member_of(env)
            now = time.monotonic()
            end = end or now + (self.timeout if timeout is None else timeout)
            if member.index != looked:
                self._fleet.observe(member)
                looked = member.index
            if not (self._gone(member, slot) if gone else self._lost(member, slot)) and now > end:
                raise BackendTimeout(
                    f"worker {member.index} did not finish within its limit; wait again, or close the backend"
                )

    def _gone(self, member: Member, slot: int) -> bool:
        """Replace a server that closed a connection."""
        assert member.process is not None
        with suppress(subprocess.TimeoutExpired):
            member.process.wait(GRACE)
        if not self._lost(member, slot):
            kill(member.process)
            self._lost(member, slot)
        return True

    def _lost(self, member: Member, slot: int) -> bool:
        lost = super()._lost(member, slot)
        if lost:
            lo, hi = member.span
            for env in range(lo, hi):
                self._lines.drop(env)
            self._pending = [env for env in self._pending if not lo <= env < hi]
        return lost

    def _blame(self, failure: Failure, slot: int) -> Failure:
        """Count a beat for those that answered, so that the one that did not stands out."""
        beats = self.buffer["heartbeat"][0]
        for env in range(failure.lo, failure.hi):
            beats[env] += env not in self._pending or self._lines.answered(env)
        return super()._blame(failure, slot)

    def _member_of(self, env: int) -> Member:
        return next(member for member in self._fleet.members if member.span[0] <= env < member.span[1])

    def _begin_anew(self, members: Sequence[Member], slot: int) -> None:
        for member in members:
            if not self._lines.connected(member.span[0]):
                try:
                    self._connect(member)
                except OSError:
                    self._gone(member, slot)
        chosen = [env for member in members for env in range(*member.span) if self._chosen[env]]
        asked = [env for env in chosen if self._lines.connected(env)]
        self._pending = asked[::-1]
        self._lines.tell_looks()
        self._lines.ask_reset(asked)
        self._collect(slot, None)
        whole: NDArray[np.intp] = np.array([env for env in asked if self._lines.connected(env)], np.intp)
        self._lines.decode(slot, whole)

    def _reseed(self, seed: int) -> None:
        self._await_all(0)
        self.buffer.forget()
        for member in self._fleet.members:
            member.arguments["seed"] = seed
            for env in range(*member.span):
                if self._lines.connected(env):
                    self._lines.greet(env, seed, self.timeout)

    def _stop(self) -> None:
        for member in self._fleet.members:
            member.block.post(CLOSE)
        self._lines.close()
        self._fleet.stop()
