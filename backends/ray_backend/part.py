"""The part of the environments that one node steps, as the session sees it."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...envs import Task
from ...envs.fields import Array
from ...envs.task import LARGE, LARGE_OF, LAST_DRAWN, LOOKED_AT
from ..core.layout import Buffer, Layout
from ..core.status import BackendEvent, WorkerState, WorkerStatus
from .cluster import Cluster
from .fleet import Node, Reply, Share

REQUESTS = (LOOKED_AT, LAST_DRAWN)
"""The fields that both sides write: this one requests boards, and the environments note what they drew."""
NOT_COPIED = {"action", "final_observation", "status", LARGE, LARGE_OF, *REQUESTS}
"""The fields of an answer that are not copied whole."""
GRACE = 3.0
"""Time limit for a node to close its environments, in s."""


class RayPart:
    """A slice of the environments, and the actor that steps it.

    Args:
        share: The slice, and the first node for it.
        options: `timeout` and `hang_timeout` of the node's workers.

    Attributes:
        lo: First environment.
        hi: One past the last.
        node: The node that steps it, or did until it was lost.
        running: Whether it has an actor, which may still be starting.
        lost: When it was lost, by the monotonic clock.
    """

    def __init__(
        self, task: Task, share: Share, first_worker: int, cluster: Cluster, options: dict[str, float]
    ) -> None:
        self.lo, self.hi, self.node = share.lo, share.hi, share.node
        self.lost: list[float] = []
        self._task, self._workers, self._first_worker = task, share.workers, first_worker
        self._cluster, self._options = cluster, options
        self._layout = Layout(task, share.hi - share.lo)
        self._actor: Any = None
        self._pending: Any = None
        self._sent: dict[str, Array] = {}
        self._statuses: tuple[WorkerStatus, ...] = ()
        self._reported = time.monotonic()

    @property
    def running(self) -> bool:
        """Whether it has an actor, which may still be starting."""
        return self._actor is not None

    def open(self, node: Node, seed: int, buffer: Buffer) -> None:
        """Start an actor on a node and have it make the environments, whose episodes go on after those of `buffer`."""
        self.node = node
        workers = min(self._workers, node.cores)
        options = {**self._options, "seed": seed, "workers": workers}
        arguments = (self._task.spec, self._task.transform, buffer.num_envs, (self.lo, self.hi), options)
        self._actor = self._cluster.start(node, workers, *arguments)
        self._pending = self._actor.open.remote(buffer["episode"][0, self.lo : self.hi].copy())

    def reset(self, mask: NDArray[np.bool_], buffer: Buffer) -> None:
        """Ask for the next episode of the masked environments of the session, `(N,)`."""
        self._request(buffer)
        self._pending = self._actor.reset.remote(mask, self._sent)

    def step(self, slot: int, buffer: Buffer) -> None:
        """Ask for a step with the actions of `slot`."""
        self._request(buffer)
        actions = buffer.rows_of("action", slot, self.lo, self.hi)
        self._pending = self._actor.step.remote(actions.copy(), self._sent)

    def reseed(self, seed: int) -> None:
        """Ask for the environments of another seed."""
        self._pending = self._actor.reseed.remote(seed)

    def answer(self, timeout: float) -> Reply:
        """Wait for the answer.

        Raises:
            BackendTimeout: It takes longer than `timeout` s; the request stays pending.
            NodeLost: The actor or its node ended.
        """
        reply: Reply = self._cluster.result(self._pending, timeout)
        if reply.workers:
            self._statuses, self._reported = reply.workers, time.monotonic()
        return reply

    def close(self, *, gently: bool) -> None:
        """End the actor; `gently` if its environments can be closed before."""
        actor, self._actor, self._pending = self._actor, None, None
        if actor is not None:
            self._cluster.kill(actor, GRACE if gently else 0)

    def copy(self, reply: Reply, buffer: Buffer, slot: int, mask: NDArray[np.bool_] | None = None) -> None:
        """Copy an answer into the rows of `slot`; only those of masked environments of the session if there is a mask.

        Raises:
            LayoutMismatch: The node's task or version differs.
        """
        assert reply.memory is not None
        found = self._layout.map(reply.memory)
        for item in self._task.fields:
            if item.name in NOT_COPIED:
                continue
            into, source = buffer.rows_of(item.name, slot, self.lo, self.hi), found[item.name][0]
            if mask is None or not item.timed:
                into[...] = source
            else:
                chosen = mask[self.lo : self.hi]
                rows = chosen.repeat(self._task.players) if item.per == "seat" else chosen
                into[rows] = source[rows]
        if mask is None:
            ended = (found["terminated"][0] | found["truncated"][0]).astype(np.bool_)
            if ended.any():
                into = buffer.rows_of("final_observation", slot, self.lo, self.hi)
                into[ended] = found["final_observation"][0, ended]
        for name, sent in self._sent.items():
            source = found[name][0]
            changed = source != sent
            buffer[name][0, self.lo : self.hi][changed] = source[changed]

    def events(self, reply: Reply) -> list[BackendEvent]:
        """Return the events of an answer, with the numbers that workers have in the session."""
        return [
            replace(
                event,
                text=f"node {self.node.name}: {event.text}",
                worker=None if event.worker is None else event.worker + self._first_worker,
            )
            for event in reply.events
        ]

    def statuses(self) -> list[WorkerStatus]:
        """Return the workers as the node reported them last; they are dead if it was lost."""
        age = time.monotonic() - self._reported
        return [
            replace(
                one,
                index=one.index + self._first_worker,
                state=one.state if self.running else WorkerState.DEAD,
                heartbeat=one.heartbeat + (0.0 if self.running else age),
                restarts=one.restarts + len(self.lost),
                node=self.node.name,
            )
            for one in self._statuses
        ]

    def _request(self, buffer: Buffer) -> None:
        self._sent = {name: buffer[name][0, self.lo : self.hi].copy() for name in REQUESTS if name in buffer}
