"""Environments on the nodes of a Ray cluster, stepped by worker processes there."""

from __future__ import annotations

import time
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...envs import BadParameter, Task
from ..core.base import Backend
from ..core.errors import BackendBroken, BackendTimeout, BackendUnavailable
from ..core.layout import Layout
from ..core.status import EnvStatus, WorkerStatus
from ..workers.supervised import AbsentRows
from .cluster import Cluster, NodeLost
from .fleet import Reply, place
from .part import RayPart

MOST_LOSSES, WINDOW = 3, 60.0
"""A part that is lost this often within this time, in s, ends the session."""
LOOK = 0.5
"""Time between two searches for nodes for the parts without one, in s."""
START = 5
"""Factor of the time limit for a start: the first one on a node compiles kernels."""


class RayBackend(Backend):
    """An actor per node steps a contiguous slice of the environments.

    A node's answer is one message with its whole slot. A node that is lost is handled like a lost worker: its rows are
    not `active` until a node is available for them, and then their episodes are marked as truncated.

    Args:
        num_envs: Number of environments N.
        address: The address of a running cluster, or `auto`.
        **options: Those of every backend. `workers` is the largest number of workers per node.
    """

    name: ClassVar[str] = "ray"
    shares_state: ClassVar[bool] = False

    def __init__(self, task: Task, num_envs: int, *, address: str = "auto", **options: Any) -> None:
        self.address = address
        super().__init__(task, num_envs, **options)

    @classmethod
    def unavailable(cls, layout: Layout) -> str:
        """Return a message if Ray is missing or the task shares tables."""
        if find_spec("ray") is None:
            return "Ray is not installed; install pac-tui[ray]"
        return "its environments share tables, which cannot be sent over a connection" if layout.task.shared else ""

    def _open(self) -> None:
        self._slot, self._searched, self._longest = 0, 0.0, 0.0
        self._parts: list[RayPart] = []
        self._waiting: list[RayPart] = []
        self._absent: dict[int, AbsentRows] = {}
        self._cluster = Cluster(self.address)
        try:
            self._place()
        except BaseException:
            self._stop()
            raise

    def _place(self) -> None:
        """Start an actor on every node that gets environments, and wait until all are ready."""
        shares = place(self.environments, self._cluster.nodes(), self._workers)
        if not shares:
            raise BackendUnavailable(f"no node of the Ray cluster at {self.address} has a CPU; add one with: ray start")
        options, workers = {"timeout": self.timeout, "hang_timeout": self.hang_timeout}, 0
        for share in shares:
            self._parts.append(RayPart(self.task, share, workers, self._cluster, options))
            workers += share.workers
            self._parts[-1].open(share.node, self.seed, self.buffer)
        for part in self._parts:
            try:
                reply = part.answer(START * self.timeout)
            except (NodeLost, BackendTimeout) as error:
                reply = Reply(error=str(error))
            if reply.error:
                raise BackendUnavailable(
                    f"node {part.node.name} cannot make {self.task.spec}: {reply.error}. "
                    "Install this version of pac-tui, and the package of the environments, on every node."
                )

    def _reset(self, mask: NDArray[np.bool_], slot: int) -> None:
        mask = mask.copy()
        for lo, hi in self._await_all():
            mask[lo:hi] = True
        for part in self._parts:
            part.reset(mask, self.buffer)
        lost = [part for part in self._parts if not self._receive(part, slot, slot, self.timeout, mask)]
        if lost:
            chosen = np.zeros_like(mask)
            for part in lost:
                chosen[part.lo : part.hi] = True
            self._reset(chosen, slot)

    def _reseed(self, seed: int) -> None:
        self._await_all()
        self.buffer.reset_episodes()
        for part in self._parts:
            part.reseed(seed)
        for part in self._parts:
            self._receive(part, 0, None, self.timeout)

    def _begin(self, slot: int) -> None:
        self._slot = slot
        if self._absent:
            self._return_parts(slot)
        self._waiting = [part for part in self._parts if part.lo not in self._absent]
        for part in self._waiting:
            part.step(slot, self.buffer)
        self._longest = 0.0

    def _finish(self, timeout: float) -> None:
        slot, end = self._slot, time.monotonic() + timeout
        while self._waiting:
            self._receive(self._waiting[-1], slot, self.buffer.order.next(slot), max(0.0, end - time.monotonic()))
            self._waiting.pop()
        self.busy_seconds += self._longest
        self._longest = 0.0
        for part in self._parts:
            absence = self._absent.get(part.lo)
            if absence is None:
                continue
            absence.fill(slot)
            if absence.returning:
                del self._absent[part.lo]
                self.buffer["status"][0, part.lo : part.hi] = EnvStatus.READY
                text = f"environments {part.lo + 1}..{part.hi} are back, on node {part.node.name}"
                self._event("info", text, None, part.lo, part.hi)

    def _receive(
        self, part: RayPart, slot: int, into: int | None, timeout: float, mask: NDArray[np.bool_] | None = None
    ) -> bool:
        """Wait for an answer and copy it into the slot `into`; return whether the node is still there.

        Raises:
            BackendTimeout: It takes longer than `timeout` s.
            BadParameter: A value from the caller is invalid.
            BackendBroken: The environments failed, or the node was lost too often.
        """
        try:
            reply = part.answer(timeout)
        except BackendTimeout:
            raise BackendTimeout(
                f"node {part.node.name} did not finish in time; wait again, or close the backend"
            ) from None
        except NodeLost as error:
            self._lose(part, f"node {part.node.name} (environments {part.lo + 1}..{part.hi}) was lost: {error}", slot)
            return False
        self._events += part.events(reply)
        if reply.error:
            kind = BadParameter if reply.refused else BackendBroken
            raise kind(f"node {part.node.name}: {reply.error}")
        self._longest = max(self._longest, reply.busy)
        if into is not None:
            part.copy(reply, self.buffer, into, mask)
        return True

    # Lost nodes.

    def _lose(self, part: RayPart, reason: str, slot: int) -> None:
        """Note that a part has no node, and that its environments are not stepped.

        Raises:
            BackendBroken: It happened too often.
        """
        part.close(gently=False)
        now = time.monotonic()
        part.lost.append(now)
        if sum(now - then < WINDOW for then in part.lost) >= MOST_LOSSES:
            raise BackendBroken(f"{reason}. It was lost {MOST_LOSSES} times within {WINDOW:g} s.")
        if part.lo not in self._absent:
            self._absent[part.lo] = AbsentRows(self.task, self.buffer, part.lo, part.hi, slot)
        self._absent[part.lo].returning = False
        self.buffer["status"][0, part.lo : part.hi] = EnvStatus.DEAD
        self._event("warning", f"{reason}\nThey continue when a node is available.", None, part.lo, part.hi)

    def _search(self) -> None:
        """Start the parts without a node on nodes that step nothing."""
        if time.monotonic() - self._searched < LOOK:
            return
        self._searched = time.monotonic()
        used = {part.node.key for part in self._parts if part.running}
        free = [node for node in self._cluster.nodes() if node.cores and node.key not in used]
        for part in self._parts:
            if not part.running and free:
                free.sort(key=lambda node: (node.key == part.node.key, node.cores))
                part.open(free.pop(), self.seed, self.buffer)

    def _ready(self, part: RayPart) -> bool:
        """Return whether an absent part has made its environments on a new node; never waits."""
        if not part.running:
            return False
        try:
            reply = part.answer(0)
        except BackendTimeout:
            return False
        except NodeLost:  # the cluster had not yet noticed that the node is gone
            part.close(gently=False)
            return False
        if reply.error:
            self._lose(part, f"node {part.node.name} cannot make {self.task.spec}: {reply.error}", self._slot)
        return not reply.error

    def _return_parts(self, slot: int) -> None:
        """Reset the environments of parts whose new node is ready; wait for one if all parts are absent."""
        end = time.monotonic() + START * self.timeout
        while True:
            self._search()
            ready = [part for part in self._parts if part.lo in self._absent and self._ready(part)]
            if ready or len(self._absent) < len(self._parts):
                break
            self._expect_node(end)
        every = np.ones(self.environments, np.bool_)
        for part in ready:
            part.reset(every, self.buffer)
        for part in ready:
            into = self.buffer.order.next(slot)
            self._absent[part.lo].returning = self._receive(part, slot, into, self.timeout, every)

    def _await_all(self) -> list[tuple[int, int]]:
        """Wait until no part is absent; return the environments of those that were."""
        end = time.monotonic() + START * self.timeout
        spans = []
        while self._absent:
            self._search()
            for part in self._parts:
                if part.lo in self._absent and self._ready(part):
                    del self._absent[part.lo]
                    spans.append((part.lo, part.hi))
            if self._absent:
                self._expect_node(end)
        self.buffer["status"][0] = EnvStatus.READY
        return spans

    def _expect_node(self, end: float) -> None:
        if time.monotonic() > end:
            raise BackendBroken(
                f"the Ray cluster at {self.address} has no node for the environments; add one with: ray start"
            )
        time.sleep(LOOK / 10)

    def _stop(self) -> None:
        for part in self._parts:
            part.close(gently=True)
        self._cluster.close()

    @property
    def workers(self) -> Sequence[WorkerStatus]:
        """The workers of all nodes, as their nodes reported them last."""
        return tuple(status for part in self._parts for status in part.statuses())
