"""The base of every backend: N environments over one buffer, stepped slot by slot."""

from __future__ import annotations

import secrets
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from ...envs import BadParameter, Task
from ...envs.errors import ImpossibleState
from ...envs.fields import Array
from ...envs.slots import SlotOrder
from ...envs.task import Restorable, seed_from
from ..system.cores import usable_cores
from ..system.segment import Segment
from .actions import ActionCheck, action_check
from .errors import BackendBusy, BackendClosed, BackendError, BackendTimeout
from .finite import FiniteCheck, NumberCheck
from .layout import Buffer, Layout
from .spans import Ring
from .status import BackendEvent, BackendStage, WorkerStatus

# Looked up in the enumeration, these two would cost more than the other checks of a step.
READY, STEPPING = BackendStage.READY, BackendStage.STEPPING


class Stepping(ABC):
    """N environments of a task, stepped in place: `start`, then `send` and `wait` (or both, `advance`), slot by slot.

    Attributes:
        name: The backend's name.
        shares_state: Whether the environments keep their states in this buffer, not in a server's.
        buffer: The arrays of the task's fields, `(slots, rows, *stored_shape)`.
        environments: Number of environments N.
        rows: Number of rows of each slot, N x players.
        seed: Environment i's episode k is seeded by `episode_seed(seed, i, k)`. It is the run's seed if `first_env` is
            0, else the one that `seed_from` returns.
        first_env: The number of environment 0 among those of all processes of the run.
        timeout: Time limit for a start or a step, in s.
        hang_timeout: Time after which a worker without a sign of life is replaced, in s.
        segment: The shared memory with the buffer, if it is in one. Another process maps it with
            `Layout(task, environments, slots, ring=order.ring).map(Segment.attach(segment.path).map)`; `close` removes
            its name.
        busy_seconds: Time spent in the environments: the sum over all steps of the slowest worker's time, in s.
    """

    name: ClassVar[str] = ""
    shares_state: ClassVar[bool] = True
    needs_segment: ClassVar[bool] = False

    def __init__(
        self,
        task: Task,
        num_envs: int,
        *,
        slots: int = 1,
        seed: int = 0,
        first_env: int = 0,
        workers: int | None = None,
        timeout: float = 60.0,
        hang_timeout: float = 10.0,
        segment: bool = False,
        device: str = "cpu",
        ring: bool = False,
        rollouts: int = 1,
    ) -> None:
        if num_envs < 1:
            raise BadParameter(f"the number of environments must be at least 1, got {num_envs}")
        if workers is not None and workers < 1:
            raise BadParameter(f"the number of workers must be at least 1, got {workers}")
        self.task, self.environments, self.timeout = task, num_envs, timeout
        self.first_env, self.seed = first_env, seed_from(seed, first_env)
        self.hang_timeout = hang_timeout
        self.rows = num_envs * task.players
        self.busy_seconds = 0.0
        self._stage = BackendStage.NEW
        self._events: list[BackendEvent] = []
        self._workers = workers
        self.segment: Segment | None = None
        self.buffer = self._allocate(
            Layout(task, num_envs, slots, device, ring=ring, rollouts=rollouts), segment=segment or self.needs_segment
        )
        try:
            self._open()
        except BaseException:
            self._remove_segment()
            raise
        self._following = 0
        self._checked = 0  # the head when numbers were checked last
        self._check_action, self._finite_check = self._checks()

    @property
    def picture_seconds(self) -> float:
        """How long the last picture of an environment took, in s; 0 if there was none, or if that is unknown."""
        return 0.0

    @property
    def drawing_seconds(self) -> float:
        """How long all pictures took in processes of the backend, in s; 0 if that is unknown."""
        return 0.0

    @property
    def rings(self) -> Sequence[Ring]:
        """The last steps of each worker, which are written while `time_steps` is on; empty if they are not known."""
        return ()

    def time_steps(self, *, on: bool) -> None:  # noqa: B027 - some backends cannot
        """Note when workers step, from the next step on, or no longer. Any thread may call it."""

    # Implemented by each backend.

    @abstractmethod
    def _open(self) -> None:
        """Make the environments over `buffer`; leave nothing behind on failure."""

    @abstractmethod
    def _reset(self, mask: NDArray[np.bool_], slot: int) -> None:
        """Start the next episode of the masked environments and wait for it."""

    @abstractmethod
    def _reseed(self, seed: int) -> None:
        """Make the environments again with another seed."""

    def _save(self, slot: int) -> bool:  # noqa: ARG002
        """Have environments write states that are not always in the buffer; return whether they did."""
        return False

    def _load(self, slot: int) -> bool:  # noqa: ARG002
        """Have environments continue from such states; return whether they did."""
        return False

    @abstractmethod
    def _begin(self, slot: int) -> None:
        """Start a step of the environments with the actions of `slot`."""

    @abstractmethod
    def _finish(self, timeout: float) -> None:
        """Wait for the pending step, at most `timeout` s."""

    @abstractmethod
    def _stop(self) -> None:
        """Stop workers and release memory; must not hang."""

    @property
    @abstractmethod
    def workers(self) -> Sequence[WorkerStatus]:
        """The current status of the workers."""

    @classmethod
    def unavailable(cls, layout: Layout) -> str:  # noqa: ARG003
        """Return why this backend cannot run environments of this layout on this machine, or an empty string."""
        return ""

    # For trainers.

    @property
    def slots(self) -> int:
        """Number of slots of the timed fields."""
        return self.buffer.slots

    @property
    def order(self) -> SlotOrder:
        """Which slots were written, and which follow."""
        return self.buffer.order

    def start(self, slot: int = 0) -> None:
        """Start the next episode in every environment and write the first observations into `slot`."""
        self._expect(BackendStage.NEW, BackendStage.READY)
        self._run_reset(np.ones(self.environments, np.bool_), slot)

    def send(self, slot: int) -> None:
        """Start a step of all environments with the actions of `slot`; continuous ones are clipped to their bounds.

        Raises:
            BadAction: An action is out of range, NaN or infinite; nothing was stepped.
            BadParameter: No step can be made from that slot.
            BackendBusy: A step is pending, or no episode has begun.
        """
        if self._stage is not READY:
            self._expect(READY)
        self._check_action(slot)
        self._following = self.buffer.order.next(slot)
        self._begin(slot)
        self._stage = STEPPING

    def wait(self, timeout: float | None = None) -> None:
        """Wait for the pending step; its results are in the next slot.

        Args:
            timeout: Time limit in s; the backend's own if None.

        Raises:
            BackendTimeout: It takes longer; the step stays pending.
            WorkerFailed: A worker failed too often.
            BackendBusy: No step is pending.
        """
        if self._stage is not STEPPING:
            self._expect(STEPPING)
        try:
            self._finish(self.timeout if timeout is None else timeout)
        except BackendTimeout:
            raise
        except BaseException:
            self._stage = BackendStage.BROKEN
            raise
        self.buffer.order.wrote(self._following)
        self._stage = READY

    def advance(self, slot: int) -> None:
        """Step all environments with the actions of `slot`; the results are in the next slot."""
        self.send(slot)
        self.wait()

    def redraw(self, slot: int) -> None:
        """Have environments draw the boards that were requested, between two steps; `slot` is the newest."""
        self._expect(BackendStage.READY)
        self._run_reset(np.zeros(self.environments, np.bool_), slot)

    def hold(self) -> None:  # noqa: B027 - only sessions pause
        """Return at once: without a session, nothing is paused."""

    def carry(self) -> None:
        """Copy the newest slot to the first of the next rollout, and check the numbers of the last one."""
        self._check_numbers()
        self.buffer.carry()

    def save(self, slot: int) -> bool:
        """Write the environments' states after the newest `slot` into the buffer; return whether they are complete."""
        if not self.shares_state or self.task.state is None:
            return False
        return not self.task.saves or (self._stage is BackendStage.READY and self._save(slot))

    def restore(self, states: Array, slot: int = 0) -> bool:
        """Continue from saved states, and write their observations into `slot`; return whether this is possible.

        Args:
            states: `(environments, *stored_shape)` of the task's field `state`.
            slot: Where to write the observations.

        Raises:
            ImpossibleState: The task can never be in one of them; nothing was changed.
        """
        self._expect(BackendStage.READY)
        if not self.shares_state or self.task.state is None or self.buffer["state"][0].shape != states.shape:
            return False
        if self.task.saves and not states.any(axis=1).all():
            return False
        before = {name: self.buffer[name][0].copy() for name in ("state", "episode")}
        self.buffer["state"][0] = states
        if self.task.saves:
            return self._load(slot)
        environments = cast("Restorable", self.task.make(0, self.environments, self.buffer, self.seed))
        try:
            environments.restore(slot)
        except ImpossibleState:
            for name, values in before.items():
                self.buffer[name][0] = values
            raise
        finally:
            environments.close()
        return True

    def drain_events(self) -> list[BackendEvent]:
        """Return the events since the last call, oldest first."""
        events, self._events = self._events, []
        return events

    def warn(self, text: str) -> None:
        """Add a warning to the events."""
        self._event("warning", text)

    # Helpers.

    def _checks(self) -> tuple[ActionCheck, NumberCheck]:
        """Return the checks of actions before a step, and of numbers after it."""
        return action_check(self.task, self.buffer["action"]), FiniteCheck(self.task, self.buffer)

    def _spans(self) -> list[tuple[int, int]]:
        """Return the first environment of each worker, and one past its last."""
        total = self.environments
        count = min(self._workers or usable_cores(), total)
        return list(pairwise(total * index // count for index in range(count + 1)))

    def _allocate(self, layout: Layout, *, segment: bool) -> Buffer:
        """Return the buffer, in shared memory or in memory of this process."""
        if not segment:
            return layout.map()
        self.segment = Segment.create(f"envs-{secrets.token_hex(6)}", layout.size + self._extra_bytes())
        layout.stamp(self.segment.map)
        return layout.map(self.segment.map)

    def _extra_bytes(self) -> int:
        """Return how many bytes the backend needs behind the buffer in a segment."""
        return 0

    def _remove_segment(self) -> None:
        if self.segment is not None:
            self.segment.unlink()

    def _run_reset(self, mask: NDArray[np.bool_], slot: int) -> None:
        try:
            self._reset(mask, slot)
        except BaseException:
            self._stage = BackendStage.BROKEN
            raise
        if mask.any():
            self.buffer.order.begin(slot)
        self._stage = BackendStage.READY

    def _check_numbers(self) -> None:
        """Check the numbers of the steps since the last check."""
        order = self.buffer.order
        for span in order.since(self._checked):
            self._finite_check.check_slots(span.written)
        self._checked = order.head
        self._events += self._finite_check.events()

    def _expect(self, *stages: BackendStage) -> None:
        if self._stage in stages:
            return
        if self._stage is BackendStage.CLOSED:
            raise BackendClosed(f"the {self.name} backend was closed; make another one")
        reasons = {
            BackendStage.NEW: "no episode has begun; call start() or reset() first",
            BackendStage.READY: "no step is pending; call send() or step_async() first",
            BackendStage.STEPPING: "a step is pending; call wait() or step_wait() first",
            BackendStage.BROKEN: "it has failed; close it and make another one",
        }
        error = BackendError if self._stage is BackendStage.BROKEN else BackendBusy
        raise error(f"the {self.name} backend cannot do that now: {reasons[self._stage]}")

    def _event(self, level: Any, text: str, worker: int | None = None, lo: int = 0, hi: int | None = None) -> None:
        self._events.append(BackendEvent(time.time(), level, text, worker, lo, self.environments if hi is None else hi))
