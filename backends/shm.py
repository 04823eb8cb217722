"""Worker processes over shared memory: any Python environment in parallel, and isolation from its crashes."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..envs import BadParameter, next_slot
from ..envs.task import MASK_64
from .absence import Absence
from .base import Backend, State
from .control import ASLEEP, BUSY, LONG_SPIN, MASK_32, ORDER, POLLS, REPLY, REQUEST, RESEED, RESET, SEED, STEP, Patience
from .cores import usable_cores
from .errors import BackendClosed, BackendTimeout, Failure
from .fleet import Fleet
from .futex import STRONGLY_ORDERED, fence, wake_up
from .layout import Buffer, Layout
from .member import Member
from .segment import Segment, lack_of_room, runtime_directory
from .status import WorkerStatus

FEW_POLLS = range(20)
"""How often this process looks for a reply before it blocks, without a core to spare."""
COMPILING = 5
"""How much longer workers of native tasks may take to get ready: the very first start compiles."""
LOOK = 0.05
"""Seconds between two looks at a worker that does not reply."""


class ShmBackend(Backend):
    """Steps contiguous slices of the environments in worker processes, which are replaced when they fail.

    While a worker is being replaced the others go on; the rows of its environments are not `active`, and at its return
    their running episodes are marked truncated.
    """

    name: ClassVar[str] = "shm"

    @classmethod
    def unavailable(cls, layout: Layout) -> str:
        """Return by how much shared memory is too small: 64 MiB are normal in a container."""
        return lack_of_room(runtime_directory(), layout.size)

    def _open(self, layout: Layout) -> Buffer:
        count, total = min(self._share or usable_cores(), self.environments), self.environments
        self._segment = Segment.create(f"envs-{secrets.token_hex(6)}", layout.size + total)
        try:
            layout.stamp(self._segment.map)
            buffer = layout.map(self._segment.map)
            self._chosen = np.frombuffer(self._segment.map, np.bool_, total, layout.size)
            told = {"spec": self.task.spec, "num_envs": total, "slots": layout.slots, "seed": self.seed}
            told["segment"] = str(self._segment.path)
            bounds = [total * index // count for index in range(count + 1)]
            spans = [{**told, "lo": lo, "hi": hi} for lo, hi in pairwise(bounds)]
            beats = [buffer["heartbeat"][0, span["lo"] : span["hi"]] for span in spans]
            self._fleet = Fleet(
                "pac.backends.serve:serve",
                spans,
                ready_timeout=self.timeout * (COMPILING if self.task.native else 1),
                hang_timeout=self.hang_timeout,
                signs=lambda index: int(beats[index].sum()),
            )
            self._fleet.wait_ready()
        except BaseException:
            self._segment.unlink()
            raise
        self._ticket = 0
        roomy = count < usable_cores()
        self._polls = POLLS if roomy else FEW_POLLS
        self._patience = Patience(LONG_SPIN if roomy else 0)
        self._away: dict[int, Absence] = {}
        self._gather()
        self._pending = self._present
        return buffer

    def _gather(self) -> None:
        """List the workers that step."""
        members = [member for member in self._fleet.members if member.index not in self._away]
        self._present = [(member.block.words, member.block.quads, member) for member in members]

    def _post(self, order: int) -> None:
        """Give an order to all pending workers."""
        self._ticket = ticket = (self._ticket + 1) & MASK_32
        pending = self._pending
        for words, _, _ in pending:
            words[ORDER] = order
            if not STRONGLY_ORDERED:
                fence()
            words[REQUEST] = ticket
        fence()
        for words, _, member in pending:
            if words[ASLEEP]:
                wake_up(member.block.request)

    def _begin(self, slot: int) -> None:
        self._order = slot
        self._pending = self._present
        if self._away:
            self._call_back(slot)
        self._post(STEP | slot)

    def _finish(self, timeout: float | None) -> None:
        slot = self._order
        self._collect(slot, timeout)
        if self._away:
            self._fill(slot)

    def _collect(self, slot: int, timeout: float | None) -> None:
        """Wait for the replies of all pending workers."""
        ticket, polls, longest = self._ticket, self._polls, 0
        for words, quads, member in self._pending:
            for _ in polls:
                if words[REPLY] == ticket:
                    break
            else:
                if not self._replies(member, slot, timeout):
                    continue
            busy = quads[BUSY]
            if busy > longest:  # noqa: PLR1730
                longest = busy
        if not STRONGLY_ORDERED:
            fence()
        self.busy_seconds += longest * 1e-9

    def _replies(self, member: Member, slot: int, timeout: float | None) -> bool:
        """Wait for a reply: yield while there is a core to spare, then block; return whether one came."""
        words, ticket, begun = member.block.words, self._ticket, time.monotonic_ns()
        old = words[REPLY]
        if old == ticket or self._patience.outlasts(words, REPLY, old):
            return True
        limit = begun + int((self.timeout if timeout is None else timeout) * 1e9)
        observed = False
        while True:
            member.block.block_on_reply(ticket, LOOK)
            if words[REPLY] == ticket:
                self._patience.learn(time.monotonic_ns() - begun)
                return True
            if not observed:
                self._fleet.observe(member)
                observed = True
            if self._lost(member, slot):
                return False
            if time.monotonic_ns() > limit:
                raise BackendTimeout(
                    f"worker {member.index} did not finish within its limit; wait again, or close the backend"
                )

    def _lost(self, member: Member, slot: int) -> bool:
        """Replace a worker if it failed; return whether it did."""
        if self._state is State.CLOSED:
            raise BackendClosed("the shm backend was closed while a step was pending")
        refusal = self._fleet.refusal_of(member)
        if refusal is not None:
            raise BadParameter(refusal)
        failure = self._fleet.failure_of(member)
        if failure is None:
            return False
        failure = self._blame(failure, slot)
        lo, hi = member.span
        if member.index not in self._away:
            self._away[member.index] = Absence(self.task, self.buffer, lo, hi, slot)
        self._gather()
        self._fleet.replace(member, failure)
        self._event("warning", f"{failure.report()}\nIt is being replaced.", member.index, lo, hi)
        return True

    def _blame(self, failure: Failure, slot: int) -> Failure:
        """Add the environment that did not finish its step, as the beats tell, and its action."""
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

    def _call_back(self, slot: int) -> None:
        """Give those that are ready again their environments, to begin anew; wait for one if nobody else is left."""
        while True:
            for member in [self._fleet.members[index] for index in self._away]:
                if not member.ready:
                    self._lost(member, slot)
            returning = [member for member in self._members_away() if member.ready]
            if returning or self._present:
                break
            self._nap()
        for member in returning:
            self._away[member.index].returning = True
            lo, hi = member.span
            self._chosen[lo:hi] = True
        self._pending = [(member.block.words, member.block.quads, member) for member in returning]
        if returning:
            self._post(RESET | next_slot(slot, self.slots))
            self._collect(slot, None)
        self._pending = self._present

    def _fill(self, slot: int) -> None:
        """Write the rows of those who are away, or just returned."""
        for index, absence in list(self._away.items()):
            absence.fill(slot)
            if absence.returning:
                del self._away[index]
                lo, hi = self._fleet.members[index].span
                self._event("info", f"worker {index} (environments {lo}..{hi - 1}) is back", index, lo, hi)
        self._gather()

    def _reset(self, mask: NDArray[np.bool_], slot: int) -> None:
        self._chosen[:] = mask
        waiting = set(range(len(self._fleet.members)))
        while waiting:
            for absence in self._await_all(slot):
                self._chosen[absence.lo : absence.hi] = True
            self._pending = [entry for entry in self._present if entry[2].index in waiting]
            self._post(RESET | slot)
            self._collect(slot, None)
            waiting = set(self._away)

    def _reseed(self, seed: int) -> None:
        self._await_all(0)
        self.buffer.forget()
        for member in self._fleet.members:
            member.arguments["seed"] = seed
            member.block.quads[SEED] = seed & MASK_64
        self._pending = self._present
        self._post(RESEED)
        self._collect(0, None)

    def _await_all(self, slot: int) -> list[Absence]:
        """Wait until nobody is away; return those who were."""
        while any(not member.ready and not self._lost(member, slot) for member in self._members_away()):
            self._nap()
        absences = list(self._away.values())
        self._away.clear()
        self._gather()
        return absences

    def _members_away(self) -> list[Member]:
        return [self._fleet.members[index] for index in self._away]

    def _nap(self) -> None:
        """Block until a worker that starts says that it is ready, or for a moment."""
        for member in self._members_away():
            if not member.ready:
                member.block.block_on_reply(member.block.words[REPLY] ^ 1, LOOK)
                return

    def _stop(self) -> None:
        self._fleet.stop()
        self._segment.unlink()

    @property
    def workers(self) -> Sequence[WorkerStatus]:
        """The worker processes."""
        return self._fleet.statuses()
