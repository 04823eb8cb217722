"""Backends with worker processes, which are replaced when they fail."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...envs import BadParameter, Task
from ...envs.fields import OUT, WAITS, Array
from ..core.base import Backend
from ..core.errors import BackendClosed, BackendTimeout, Failure
from ..core.layout import Buffer
from ..core.status import BackendStage, EnvStatus, WorkerStatus
from .control import DRAWN, PICTURE, REPLY
from .fleet import Fleet, Member

KEPT = ("observation", "episode_return", "episode_length")
"""Kept from the interrupted episodes, and reported when these are marked truncated."""
STILL = ("active", "reward", "terminated", "truncated", "outcome", "frames")
"""Fields that are zero while nothing is stepped."""


class AbsentRows:
    """Writes the rows of environments `lo..hi` from the interrupted step of `slot` until their worker returns.

    The interrupted step and the step of the return are not `active`, because no environment took those actions.

    Attributes:
        lo: First environment.
        hi: One past the last.
        returning: Whether they were reset in the current step.
    """

    def __init__(self, task: Task, buffer: Buffer, lo: int, hi: int, slot: int) -> None:
        self.lo, self.hi, self.returning = lo, hi, False
        self._buffer = buffer
        self._timed = [item.name for item in task.fields if item.timed]
        self._kept = {name: self._rows(name, slot).copy() for name in KEPT}
        active = self._rows("active", slot)
        active[active != OUT] = WAITS  # what a seat did before it was eliminated is still learned from

    def fill(self, slot: int) -> None:
        """Write the rows of the step of `slot`: a copy of the previous rows, or a truncation at the return."""
        target = self._buffer.order.next(slot)
        if not self.returning and target != slot:
            for name in self._timed:
                self._rows(name, target)[...] = self._rows(name, slot)
        for name in STILL:
            self._rows(name, target)[...] = 0
        if self.returning:
            self._rows("truncated", target)[...] = 1
            self._rows("final_observation", target)[...] = self._kept["observation"]
            for name in ("episode_return", "episode_length"):
                self._rows(name, target)[...] = self._kept[name]

    def _rows(self, name: str, slot: int) -> Array:
        return self._buffer.rows_of(name, slot, self.lo, self.hi)


COMPILING = 5
"""Factor of the time limit for workers of native tasks to get ready: the first start compiles kernels."""
LOOK = 0.05
"""Time between two checks of a worker that does not reply, in s."""


class SupervisedBackend(Backend):
    """Steps contiguous slices of the environments in worker processes.

    While a worker is being replaced, the others continue. The rows of its environments are not `active`, and when it
    returns their running episodes are marked as truncated.

    A subclass starts its fleet in `_open`. While workers are `_absent` it calls `_return_members` before a step and
    `_fill` after it. It calls `_replace_if_failed` for a worker that does not answer.
    """

    _fleet: Fleet
    _absent: dict[int, AbsentRows]
    _chosen: NDArray[np.bool_]
    """The environments that the next `_reset_members` resets."""

    @abstractmethod
    def _reset_members(self, members: Sequence[Member], slot: int) -> None:
        """Start the next episode of the chosen environments of these workers and wait for it."""

    @abstractmethod
    def _update_present(self) -> None:
        """List the workers that step: those that are not absent."""

    def _start_fleet(self, target: str, **common: Any) -> None:
        """Start workers with the arguments `common` and their environments, and wait until they are ready."""
        spans = self._spans()
        beats = [self.buffer["heartbeat"][0, lo:hi] for lo, hi in spans]
        self._absent = {}
        common |= {"spec": self.task.spec, "seed": self.seed}
        self._fleet = Fleet(
            target,
            [{**common, "lo": lo, "hi": hi} for lo, hi in spans],
            ready_timeout=self.timeout * (COMPILING if self.task.native else 1),
            hang_timeout=self.hang_timeout,
            signs=lambda index: int(beats[index].sum()),
        )
        self._fleet.wait_ready()

    @property
    def picture_seconds(self) -> float:
        """How long the slowest of the workers' last pictures took."""
        return max(member.block.quads[PICTURE] for member in self._fleet.members) / 1e9

    @property
    def drawing_seconds(self) -> float:
        return sum(member.block.quads[DRAWN] for member in self._fleet.members) / 1e9

    def _replace_if_failed(self, member: Member, slot: int) -> bool:
        if self._stage is BackendStage.CLOSED:
            raise BackendClosed(f"the {self.name} backend was closed while a step was pending")
        refusal = self._fleet.refusal_of(member)
        if refusal is not None:
            raise BadParameter(refusal)
        failure = self._fleet.failure_of(member)
        if failure is None:
            return False
        failure = self._locate_failure(failure, slot)
        lo, hi = member.span
        if member.index not in self._absent:
            self._absent[member.index] = AbsentRows(self.task, self.buffer, lo, hi, slot)
        self._absent[member.index].returning = False
        self.buffer["status"][0, lo:hi] = EnvStatus.HUNG if member.hung else EnvStatus.DEAD
        self._update_present()
        self._fleet.replace(member, failure)
        self._event("warning", f"{failure.report()}\nIt is being replaced.", member.index, lo, hi)
        return True

    def _late(self, member: Member) -> BackendTimeout:
        return BackendTimeout(
            f"worker {member.index + 1} did not finish its step in time; wait again, or close the backend"
        )

    def _locate_failure(self, failure: Failure, slot: int) -> Failure:
        """Add the environment that did not finish its step, according to the heartbeats, and its action."""
        lo, hi = failure.lo, failure.hi
        beats = self.buffer["heartbeat"][0, lo:hi]
        environment = failure.environment
        if environment is None and (beats.min() < beats.max() or self._fleet.members[failure.worker].hung):
            environment = lo + int(np.argmin(beats))
        beats[:] = beats.max()
        if environment is None or failure.action is not None:
            return failure
        action = self.buffer["action"][slot, environment * self.task.players].tolist()
        return replace(failure, environment=environment, action=action)

    def _return_members(self, slot: int) -> None:
        """Reset the environments of replaced workers that are ready; wait for one if all workers are absent."""
        while True:
            for member in self._absent_members():
                if not member.ready:
                    self._replace_if_failed(member, slot)
            returning = [member for member in self._absent_members() if member.ready]
            if returning or len(self._absent) < len(self._fleet.members):
                break
            self._wait_for_start()
        for member in returning:
            self._absent[member.index].returning = True
            lo, hi = member.span
            self._chosen[lo:hi] = True
        if returning:
            self._reset_members(returning, self.buffer.order.next(slot))

    def _fill(self, slot: int) -> None:
        """Write the rows of workers that are absent or have just returned."""
        for index, absence in list(self._absent.items()):
            absence.fill(slot)
            if absence.returning:
                del self._absent[index]
                lo, hi = self._fleet.members[index].span
                self.buffer["status"][0, lo:hi] = EnvStatus.READY
                self._event("info", f"worker {index + 1} (environments {lo + 1}..{hi}) is back", index, lo, hi)
        self._update_present()

    def _reset(self, mask: NDArray[np.bool_], slot: int) -> None:
        self._chosen[:] = mask
        waiting = set(range(len(self._fleet.members)))
        while waiting:
            for absence in self._await_all(slot):
                self._chosen[absence.lo : absence.hi] = True
            self._reset_members([self._fleet.members[index] for index in sorted(waiting)], slot)
            waiting = set(self._absent)

    def _reseed(self, seed: int) -> None:
        self._await_all(0)
        self.buffer.reset_episodes()
        for member in self._fleet.members:
            member.arguments["seed"] = seed

    def _await_all(self, slot: int) -> list[AbsentRows]:
        """Wait until no worker is absent; return the rows of those that were."""
        while any(not member.ready and not self._replace_if_failed(member, slot) for member in self._absent_members()):
            self._wait_for_start()
        absences = list(self._absent.values())
        self._absent.clear()
        self.buffer["status"][0] = EnvStatus.READY
        self._update_present()
        return absences

    def _absent_members(self) -> list[Member]:
        return [self._fleet.members[index] for index in self._absent]

    def _wait_for_start(self) -> None:
        """Wait until a starting worker is ready, at most 50 ms."""
        for member in self._absent_members():
            if not member.ready:
                member.block.block_on_reply(member.block.words[REPLY] ^ 1, LOOK)
                return

    @property
    def workers(self) -> Sequence[WorkerStatus]:
        """The status of the worker processes."""
        return self._fleet.statuses()
