"""The actor of a node: it steps the node's environments with worker processes over the node's shared memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...envs import PacError, Task, find
from ...envs.fields import Array
from ...envs.task import TaskTransform, transformed
from ..core.errors import BackendTimeout, BackendUnavailable
from ..core.layout import Layout
from ..core.status import BackendEvent, WorkerStatus
from ..system.cores import usable_cores
from ..workers.shm import ShmBackend


@dataclass(frozen=True)
class Node:
    """A node of the cluster.

    Attributes:
        key: Its identifier in Ray.
        name: What messages call it.
        cores: Number of CPUs that Ray may use there.
    """

    key: str
    name: str
    cores: int


@dataclass(frozen=True)
class Share:
    """The environments of one node.

    Attributes:
        lo: First environment.
        hi: One past the last.
        workers: Number of worker processes.
    """

    node: Node
    lo: int
    hi: int
    workers: int


def place(environments: int, nodes: Sequence[Node], workers: int | None = None) -> list[Share]:
    """Divide environments over nodes in proportion to their cores, as contiguous slices in the order of the nodes.

    Args:
        environments: Number of environments N.
        nodes: The nodes; those without cores get nothing.
        workers: The largest number of workers per node; one per core if None.

    Returns:
        A share for every node that has at least one environment.
    """
    cores = [node.cores for node in nodes]
    ends = [environments * upto // max(1, sum(cores)) for upto in accumulate(cores)]
    return [
        Share(node, lo, hi, min(hi - lo, node.cores, workers or node.cores))
        for node, lo, hi in zip(nodes, [0, *ends], ends, strict=False)
        if hi > lo
    ]


STATUS_PERIOD = 0.5
"""Time between two reports of the workers' status, in s."""


@dataclass(frozen=True)
class Reply:
    """The answer of a node.

    Attributes:
        memory: The rows of the node, in one slot, as `Layout` describes them.
        busy: Time spent in the environments, in s.
        events: What happened since the last answer; workers are numbered within the node.
        workers: The status of the workers, or nothing if it was reported a moment ago.
        error: Why the node could not do it; empty if it did.
        refused: Whether the error is the caller's, so that the node continues.
    """

    memory: NDArray[np.uint8] | None = None
    busy: float = 0.0
    events: tuple[BackendEvent, ...] = ()
    workers: tuple[WorkerStatus, ...] = ()
    error: str = ""
    refused: bool = False


class NodeEnvs(ShmBackend):
    """Environments `lo..hi` of N. The buffer has rows for all N, so that seeds and states are those of one machine.

    Args:
        num_envs: Number of environments N of the session.
        span: The first environment of this node, and one past its last.
        **options: Those of every backend.
    """

    def __init__(self, task: Task, num_envs: int, span: tuple[int, int], **options: Any) -> None:
        self._span = span
        super().__init__(task, num_envs, **options)

    def _spans(self) -> list[tuple[int, int]]:
        lo, hi = self._span
        count = min(self._workers or usable_cores(), hi - lo)
        return list(pairwise(lo + (hi - lo) * index // count for index in range(count + 1)))

    def reset_some(self, mask: NDArray[np.bool_]) -> None:
        """Start the next episode of the masked environments of the session, `(N,)`, and draw the requested boards."""
        self._run_reset(mask, 0)

    def reseed(self, seed: int) -> None:
        """Make the environments again with another seed."""
        self.seed = seed
        self._reseed(seed)


class NodeFleet:
    """The environments `lo..hi` of a session on one node. Ray runs one per node and calls one method at a time.

    Args:
        spec: The spec of the task.
        num_envs: Number of environments N of the session.
        span: `lo` and `hi`.
        options: `seed`, `workers`, `timeout` and `hang_timeout` of `NodeEnvs`.
    """

    def __init__(
        self, spec: str, transform: TaskTransform | None, num_envs: int, span: tuple[int, int], options: dict[str, Any]
    ) -> None:
        self._spec, self._transform, self._num_envs = spec, transform, num_envs
        self._span, self._options = span, options
        self._envs: NodeEnvs | None = None
        self._reported = 0.0

    def open(self, episodes: NDArray[np.int64]) -> Reply:
        """Make the environments, which have played `episodes + 1` episodes, `(hi - lo,)`."""
        return self._answer(lambda: self._make(episodes))

    def reset(self, mask: NDArray[np.bool_], requests: dict[str, Array]) -> Reply:
        """Start the next episode of the masked environments of the session, `(N,)`, and draw the requested boards."""
        return self._answer(lambda: self._with(requests).reset_some(mask))

    def step(self, actions: Array, requests: dict[str, Array]) -> Reply:
        """Step all environments with `actions`, `(rows, *shape)`."""
        return self._answer(lambda: self._step(actions, self._with(requests)))

    def reseed(self, seed: int) -> Reply:
        """Make the environments again with another seed."""
        return self._answer(lambda: self._with({}).reseed(seed))

    def close(self) -> None:
        """Stop the workers and remove their files."""
        if self._envs is not None:
            self._envs.close()

    def _make(self, episodes: NDArray[np.int64]) -> None:
        task = transformed(find(self._spec), self._transform)
        if reason := NodeEnvs.unavailable(Layout(task, self._num_envs)):
            raise BackendUnavailable(reason)
        self._envs = NodeEnvs(task, self._num_envs, self._span, **self._options)
        layout = Layout(task, self._span[1] - self._span[0])
        self._memory = layout.allocate()
        self._slice = layout.map(self._memory)
        self._with({"episode": episodes})

    def _step(self, actions: Array, envs: NodeEnvs) -> None:
        envs.buffer.rows_of("action", 0, *self._span)[...] = actions
        envs.send(0)
        while True:
            with suppress(BackendTimeout):  # the session has its own time limit
                envs.wait()
                return

    def _with(self, values: dict[str, Array]) -> NodeEnvs:
        """Write values into the rows of fields, such as which boards are requested; return the environments."""
        assert self._envs is not None
        for name, rows in values.items():
            self._envs.buffer.rows_of(name, 0, *self._span)[...] = rows
        return self._envs

    def _answer(self, action: Callable[[], None]) -> Reply:
        """Return the result of an action; an exception becomes text, because not every exception can be pickled."""
        before = self._envs.busy_seconds if self._envs is not None else 0.0
        try:
            action()
        except Exception as error:
            text = str(error) if isinstance(error, PacError) else f"{type(error).__name__}: {error}"
            return Reply(error=text, refused=isinstance(error, PacError) and isinstance(error, ValueError))
        envs = self._with({})
        for name, rows in self._slice.items():
            rows[0] = envs.buffer.rows_of(name, 0, *self._span)
        return Reply(self._memory, envs.busy_seconds - before, tuple(envs.drain_events()), self._statuses(envs))

    def _statuses(self, envs: NodeEnvs) -> tuple[WorkerStatus, ...]:
        if time.monotonic() - self._reported < STATUS_PERIOD:
            return ()
        self._reported = time.monotonic()
        return tuple(envs.workers)
