"""Backends with server processes and one connection per environment."""

from __future__ import annotations

import resource
import subprocess
from abc import abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, ClassVar

import numpy as np

from ...envs.apart import kill
from ..core.errors import Failure
from ..core.layout import Layout
from ..workers.control import CLOSE
from ..workers.fleet import Member
from ..workers.supervised import SupervisedBackend
from .exchange import Connections, Exchange

GRACE = 1.0
"""Time limit for a server to end after it closed a connection, in s."""
OTHER_FILES = 256
"""Number of files that a process may have open besides its connections."""


class ServedBackend(SupervisedBackend):
    """Starts one server per worker, and opens one connection per environment.

    A subclass makes its connections in `_open` and passes them to `_open_connections`.
    """

    shares_state: ClassVar[bool] = False
    _connections: Connections

    @classmethod
    def unavailable(cls, layout: Layout) -> str:
        """Return a message if the task shares tables or needs too many open files; raises the soft limit of files."""
        if layout.task.shared:
            return "its environments share tables, which cannot be sent over a connection"
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = layout.num_envs + OTHER_FILES
        if soft == resource.RLIM_INFINITY or soft >= wanted:
            return ""
        if hard != resource.RLIM_INFINITY and hard < wanted:
            return f"it needs {wanted:,} open files, the limit is {hard:,}; raise it with ulimit -n"
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        return ""

    @abstractmethod
    def _connect(self, member: Member) -> None:
        """Connect to a server that is ready."""

    def _open_connections(self, target: str, connections: Connections, **common: Any) -> None:
        """Start servers with the arguments `common`, and connect their environments."""
        self._connections = connections
        self._chosen = np.zeros(self.environments, np.bool_)
        self._start_fleet(target, **common)
        starts = np.array([member.span[0] for member in self._fleet.members])
        self._exchange = Exchange(connections, starts, self._handle_missing)
        self._slot, self._looked = 0, -1
        try:
            for member in self._fleet.members:
                self._connect(member)
        except BaseException:
            self._stop()
            raise
        self._update_present()

    def _update_present(self) -> None:
        away = [member.span for member in self._absent_members()]
        self._present = [env for env in range(self.environments) if not any(lo <= env < hi for lo, hi in away)]
        self._rows = np.array(self._present, np.intp) if away else None

    def _begin(self, slot: int) -> None:
        if self._absent:
            self._return_members(slot)
        self._slot, self._looked = slot, -1
        self._exchange.send_step(self._present, slot)

    def _finish(self, timeout: float) -> None:
        exchange, slot, into = self._exchange, self._slot, self.buffer.order.next(self._slot)
        exchange.collect(timeout)
        if not exchange.step_done:
            self.busy_seconds += exchange.finish_step(into, self._rows)
        exchange.finish_resets(into, timeout)
        if self._absent:
            self._fill(slot)

    def _handle_missing(self, env: int, gone: bool, late: bool) -> None:
        """Replace the server of an environment that does not answer, if it failed."""
        member, slot = self._member_of(env), self._slot
        if member.index != self._looked:
            self._fleet.observe(member)
            self._looked = member.index
        if not (self._replace_disconnected(member, slot) if gone else self._replace_if_failed(member, slot)) and late:
            raise self._late(member)

    def _replace_disconnected(self, member: Member, slot: int) -> bool:
        """Replace a server that closed a connection."""
        assert member.process is not None
        with suppress(subprocess.TimeoutExpired):
            member.process.wait(GRACE)
        if not self._replace_if_failed(member, slot):
            kill(member.process)
            self._replace_if_failed(member, slot)
        return True

    def _replace_if_failed(self, member: Member, slot: int) -> bool:
        lost = super()._replace_if_failed(member, slot)
        if lost:
            self._exchange.drop(*member.span)
        return lost

    def _locate_failure(self, failure: Failure, slot: int) -> Failure:
        """Add a heartbeat where an answer came, so that the environment without one has the lowest count."""
        beats = self.buffer["heartbeat"][0]
        for env in range(failure.lo, failure.hi):
            beats[env] += env not in self._exchange.pending or self._connections.answered(env)
        return super()._locate_failure(failure, slot)

    def _member_of(self, env: int) -> Member:
        return next(member for member in self._fleet.members if member.span[0] <= env < member.span[1])

    def _reset_members(self, members: Sequence[Member], slot: int) -> None:
        for member in members:
            if not self._connections.connected(member.span[0]):
                try:
                    self._connect(member)
                except OSError:
                    self._replace_disconnected(member, slot)
        chosen = [env for member in members for env in range(*member.span) if self._chosen[env]]
        self._slot, self._looked = slot, -1
        self._exchange.reset([env for env in chosen if self._connections.connected(env)], slot, self.timeout)

    def _reseed(self, seed: int) -> None:
        super()._reseed(seed)
        for env in range(self.environments):
            if self._connections.connected(env):
                self._connections.greet(env, seed, self.timeout)

    def _stop(self) -> None:
        for member in self._fleet.members:
            member.block.post(CLOSE)
        self._exchange.close()
        self._fleet.stop()
