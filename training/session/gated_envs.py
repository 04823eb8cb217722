"""The environments as a trainer of a session gets them: behind the gate, and monitored."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from ...backends.core.base import Backend
from ...backends.system.segment import Segment
from ...envs.slots import SlotOrder
from ...envs.spaces.late_infos import LateNames
from .base_session import BaseSession
from .checkpoint_manager import CheckpointManager

if TYPE_CHECKING:
    from ..trainer import LaunchedEnvs


class GatedEnvs:
    """A backend behind the gate.

    Args:
        backend: Steps the environments.
        session: Its gate is passed before each step, and its monitor gets each step.
        checkpoints: Copies a slice of what it saves after a step, while it saves.
        on_report: Called after a step in which workers have reported names, with `late`.
        late: The names of numbers in infos that are found later; None without room for them.

    Attributes:
        backend: The same.
        buffer: The memory that the environments write into.
        environments: Number of environments N.
        stepping: Whether the training thread is in the environments or at the gate; meanwhile, nothing is learned.
    """

    def __init__(
        self,
        backend: Backend,
        session: BaseSession,
        checkpoints: CheckpointManager,
        *,
        on_report: Callable[[LateNames], None],
        late: LateNames | None,
    ) -> None:
        self.backend = backend
        self.buffer = backend.buffer
        self.environments = backend.environments
        self.stepping = False
        self._session, self._timer, self._monitor = session, session.timer, session.monitor
        self._checkpoints = checkpoints
        self._late, self._on_report = late, on_report
        self._manual_control = session.debugger.manual_control

    @property
    def order(self) -> SlotOrder:
        """Which slots were written, and which follow."""
        return self.backend.order

    @property
    def segment(self) -> Segment | None:
        """The shared memory with the buffer; None if the buffer is in memory of this process."""
        return self.backend.segment

    def start(self, slot: int = 0) -> None:
        """Start an episode in every environment."""
        self.backend.start(slot)
        self._monitor.begin(self.backend)
        self._timer.skip()

    def advance(self, slot: int) -> None:
        """Pass the gate and step all environments."""
        timer, backend, check = self._timer, self.backend, self._session.wait_check
        timer.lap("python")
        if check is not None:
            check.begin_step()
        self.stepping = True
        try:
            self._session.pass_gate()
            if self._manual_control.requested is not None or self._manual_control.played is not None:
                self._manual_control.apply(self.buffer, slot)
            busy = backend.busy_seconds
            backend.advance(slot)
        finally:
            self.stepping = False
        spent = timer.lap("environment")
        timer.move("environment", "transport", max(0.0, spent - (backend.busy_seconds - busy)))
        self._monitor.step()
        if self._late:
            self._on_report(self._late)
        self._checkpoints.feed()
        if check is not None:
            check.end_step()

    @property
    def stepwise(self) -> bool:
        """Whether the gate, a breakpoint, a recording, a person or a check needs the training between two steps."""
        session, manual = self._session, self._manual_control
        return bool(
            session.gate.attention[0]
            or session.debugger.needs_every_step
            or session.wait_check is not None
            or manual.requested is not None
            or manual.played is not None
            or self._launched.stepwise
        )

    @property
    def _launched(self) -> LaunchedEnvs:
        return cast("LaunchedEnvs", self.backend)

    def launch(self, slot: int) -> None:
        """Put the step of a slot on the device, for a graph."""
        self._launched.launch(slot)

    def replay(self, slot: int, steps: int, play: Callable[[], None]) -> None:
        """Make all steps of a rollout. The gate was open when `stepwise` was asked; it holds before the next one."""
        self._timer.lap("python")
        self.stepping = True
        try:
            self._launched.replay(slot, steps, play)
        finally:
            self.stepping = False
        self._timer.lap("environment")
        self._monitor.step()
        self._checkpoints.feed()

    def hold(self) -> None:
        """Wait while the session is paused, without a step."""
        self.stepping = True
        try:
            self._session.hold()
        finally:
            self.stepping = False

    def carry(self) -> None:
        """Copy the last slot of a rollout to the first slot of the next one."""
        self.backend.carry()

    def close(self) -> None:
        """Stop the workers."""
        self.backend.close()
