"""Worker processes over shared memory, for any Python environment, isolated from its crashes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from ...envs.task import MASK_64
from ..core.layout import Layout
from ..core.spans import NUMBER, Ring, bytes_of
from ..system.cores import core_reader, own_cores, usable_cores
from ..system.futex import STRONGLY_ORDERED, fence, wake_up
from ..system.segment import lack_of_room, runtime_directory
from .control import (
    BUSY,
    COMMAND,
    FLEET_CORE,
    LOAD,
    LONG_SPIN,
    MASK_32,
    NO_CORE,
    POLLS,
    REPLY,
    REQUEST,
    RESEED,
    RESET,
    SAVE,
    SEED,
    SHORT_SPIN,
    STEP,
    TIMED,
    WORKER_BLOCKED,
    SpinWait,
)
from .fleet import Member
from .supervised import LOOK, SupervisedBackend

NO_POLLS, FEW_POLLS, MANY_POLLS = range(0), range(20), range(10_000)
"""How often this process polls for a reply before it blocks: that of the worker on its own core; any, if there is no
spare core; those of other workers, once the worker on its core has blocked. Never, if another thread learns."""


class ShmBackend(SupervisedBackend):
    """Worker processes that write into the shared buffer."""

    name: ClassVar[str] = "shm"
    needs_segment: ClassVar[bool] = True

    @classmethod
    def unavailable(cls, layout: Layout) -> str:
        """Return a message if shared memory is too small, as in containers, where 64 MiB are common."""
        return lack_of_room(runtime_directory(), layout.size)

    def _extra_bytes(self) -> int:
        """The mask of the environments to reset follows the buffer, and the rings of the workers' last steps."""
        return self.environments + -self.environments % NUMBER + bytes_of(self._spans())

    def _open(self) -> None:
        assert self.segment is not None
        total, spans = self.environments, self._spans()
        workers = len(spans)
        end = len(self.segment.map)
        rings, chosen = end - bytes_of(spans), end - self._extra_bytes()
        self._chosen = np.frombuffer(self.segment.map, np.bool_, total, chosen)
        memory = memoryview(self.segment.map)[rings:]
        self._rings = [Ring(memory, spans, index) for index in range(workers)]
        self._stepping = STEP
        self._cores = cores = own_cores(workers)
        self._start_fleet(
            "pac.backends.workers.serve:serve",
            transform=self.task.transform,
            num_envs=total,
            slots=self.slots,
            ring=self.buffer.order.ring,
            rollouts=self.buffer.order.rollouts,
            segment=str(self.segment.path),
            cores=cores,
            rings=rings,
            spans=spans,
        )
        self._ticket = 0
        self._core = core_reader() if cores else None
        self._place = NO_CORE
        if self.buffer.order.rollouts > 1:
            self._polls, self._more_polls, self._patience = NO_POLLS, NO_POLLS, SpinWait(0)
        elif cores:
            self._polls, self._more_polls, self._patience = NO_POLLS, MANY_POLLS, SpinWait(0)
        elif workers < usable_cores():
            self._polls, self._more_polls, self._patience = POLLS, POLLS, SpinWait(LONG_SPIN)
        else:
            self._polls, self._more_polls, self._patience = FEW_POLLS, FEW_POLLS, SpinWait(SHORT_SPIN)
        self._update_present()
        self._pending = self._present

    def _update_present(self) -> None:
        """List the workers that step, the one on this process's core first."""
        members = [member for member in self._fleet.members if member.index not in self._absent]
        if self._cores:
            members.sort(key=lambda member: self._cores[member.index] != self._place)
        self._present = [(member.block.words, member.block.quads, member) for member in members]

    def _move(self, place: int) -> None:
        """Publish the core that this process runs on: the worker on it yields after its reply."""
        self._place = place
        for member in self._fleet.members:
            member.block.words[FLEET_CORE] = place
        self._update_present()

    def _post(self, command: int) -> None:
        self._ticket = ticket = (self._ticket + 1) & MASK_32
        pending = self._pending
        for words, _, _ in pending:
            words[COMMAND] = command
            if not STRONGLY_ORDERED:
                fence()
            words[REQUEST] = ticket
        fence()  # requests before the words that say who is blocked: see `ControlBlock.block_on_reply`
        for words, _, member in reversed(pending):  # a worker woken on this core may run immediately
            if words[WORKER_BLOCKED]:
                wake_up(member.block.request)

    def _begin(self, slot: int) -> None:
        self._slot = slot
        if self._absent:
            self._return_members(slot)
        if self._core and (place := self._core()) != self._place:
            self._move(place)
        self._pending = self._present
        self._post(self._stepping | slot)

    def _finish(self, timeout: float) -> None:
        slot = self._slot
        self._collect(slot, timeout)
        if self._absent:
            self._fill(slot)

    def _collect(self, slot: int, timeout: float) -> None:
        """Wait for the replies of all pending workers.

        The worker that was slowest in the previous step comes first, or the one on this core, which starts last.
        """
        ticket, polls, longest, last, pending = self._ticket, self._polls, 0, 0, self._pending
        for index, (words, quads, member) in enumerate(pending):
            for _ in polls:
                if words[REPLY] == ticket:
                    break
            else:
                if not self._replies(member, slot, timeout):
                    continue
                last = index
            polls = self._more_polls
            busy = quads[BUSY]
            if busy > longest:  # noqa: PLR1730
                longest = busy
        if last and not self._core:
            pending.insert(0, pending.pop(last))
        if not STRONGLY_ORDERED:
            fence()  # replies before the results that are read from the buffer next
        self._patience.learn(longest)
        self.busy_seconds += longest * 1e-9

    def _replies(self, member: Member, slot: int, timeout: float) -> bool:
        """Wait for a reply: yield while there is a spare core, then block. Return whether it came."""
        words, ticket = member.block.words, self._ticket
        old = words[REPLY]
        if old == ticket or (not self._core and self._patience.wait_until(lambda: words[REPLY] != old)):
            return True
        member.block.block_on_reply(ticket, LOOK)
        return words[REPLY] == ticket or self._answers(member, slot, timeout)

    def _answers(self, member: Member, slot: int, timeout: float) -> bool:
        """Wait for a slow worker until it replies, fails or exceeds the time limit; return whether it replied."""
        words, ticket = member.block.words, self._ticket
        limit = time.monotonic() + timeout
        self._fleet.observe(member)
        while not self._replace_if_failed(member, slot):
            if time.monotonic() > limit:
                raise self._late(member)
            member.block.block_on_reply(ticket, LOOK)
            if words[REPLY] == ticket:
                return True
        return False

    def _reset_members(self, members: Sequence[Member], slot: int) -> None:
        self._pending = [(member.block.words, member.block.quads, member) for member in members]
        self._post(RESET | slot)
        self._collect(slot, self.timeout)

    def _save(self, slot: int) -> bool:
        return not self._absent and self._all_do(SAVE, slot)

    def _load(self, slot: int) -> bool:
        return not self._absent and self._all_do(LOAD, slot)

    def _all_do(self, command: int, slot: int) -> bool:
        self._pending = self._present
        self._post(command | slot)
        self._collect(slot, self.timeout)
        return not self._absent

    def _reseed(self, seed: int) -> None:
        super()._reseed(seed)
        for member in self._fleet.members:
            member.block.quads[SEED] = seed & MASK_64
        self._all_do(RESEED, 0)

    @property
    def rings(self) -> Sequence[Ring]:
        """The last steps of each worker."""
        return self._rings

    def time_steps(self, *, on: bool) -> None:
        """Note when workers step, from the next step on, or no longer."""
        self._stepping = TIMED if on else STEP

    def _stop(self) -> None:
        self._fleet.stop()
