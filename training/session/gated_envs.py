"""The environments as a trainer of a session gets them: behind the gate, and monitored."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, cast

from ...backends.core.base import Backend
from ...envs.spaces.infos import LateNames
from ..telemetry.events import EventLog
from ..telemetry.records import Level
from .checkpoint_manager import CheckpointManager
from .passage import Passage
from .services import Services

if TYPE_CHECKING:
    from ..nets.wait_guard import Wait
    from ..trainer import LaunchedEnvs


class WaitCheck:
    """Watches, for `--check-sync`, what the training thread computes between two steps of an iteration.

    Code before the first step and after the last one, where a trainer learns, is not watched. Neither is the session's
    own code during a step. Each place that waits is reported once.
    """

    def __init__(self, events: EventLog) -> None:
        self._events = events
        self._found: list[Wait] = []
        self._reported: set[Wait] = set()
        self._between = False

    @contextmanager
    def iteration(self) -> Iterator[None]:
        """Watch an iteration of the trainer."""
        from ..nets.wait_guard import WaitGuard

        self._between = False
        with WaitGuard(self._found.append):
            yield

    def begin_step(self) -> None:
        """Report what waited since the last step."""
        for wait in self._found if self._between else ():
            if wait not in self._reported:
                self._reported.add(wait)
                reason = f"{wait.where} {wait.what}, so every step waits for the device"
                self._events.add(Level.WARNING, f"check-sync: {reason}; compute it on the device")
        self._found.clear()

    def end_step(self) -> None:
        """Watch what is computed until the next step."""
        self._found.clear()
        self._between = True


class GatedEnvs:
    """A backend behind the gate. After each step come the monitor and a slice of the checkpoint that is being saved.

    After a step in which workers have reported names, `on_report` is called with `late`, the names of numbers in infos
    that are found later.

    Attributes:
        stepping: Whether the training thread is in the environments or at the gate; meanwhile, nothing is learned.
    """

    def __init__(
        self,
        backend: Backend,
        services: Services,
        passage: Passage,
        checkpoints: CheckpointManager,
        *,
        check: WaitCheck | None,
        on_report: Callable[[LateNames], None],
        late: LateNames | None,
    ) -> None:
        self.backend, self.buffer = backend, backend.buffer
        self.order, self.segment = backend.order, backend.segment
        self.environments = backend.environments
        self.stepping = False
        self._passage, self._checkpoints, self._check = passage, checkpoints, check
        self._gate, self._timer, self._monitor = services.gate, services.timer, services.monitor
        self._late, self._on_report = late, on_report
        self._manual_control = services.debugger.manual_control

    def start(self, slot: int = 0) -> None:
        """Start an episode in every environment."""
        self.backend.start(slot)
        self._monitor.begin(self.backend)
        self._timer.skip()

    def advance(self, slot: int) -> None:
        """Pass the gate and step all environments."""
        timer, backend, check = self._timer, self.backend, self._check
        timer.lap("python")
        if check is not None:
            check.begin_step()
        self.stepping = True
        try:
            self._passage.enter()
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
        manual = self._manual_control
        return bool(
            self._gate.attention[0]
            or self._monitor.debugger.needs_every_step
            or self._check is not None
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

    def run_captured(self, slot: int, steps: int, play: Callable[[], None]) -> None:
        """Make all steps of a rollout. The gate was open when `stepwise` was asked; it holds before the next one."""
        self._timer.lap("python")
        self.stepping = True
        try:
            self._launched.run_captured(slot, steps, play)
        finally:
            self.stepping = False
        self._timer.lap("environment")
        self._monitor.step()
        self._checkpoints.feed()

    def hold(self) -> None:
        """Wait while the session is paused, without a step."""
        self.stepping = True
        try:
            self._passage.hold()
        finally:
            self.stepping = False

    def carry(self) -> None:
        """Copy the last slot of a rollout to the first slot of the next one."""
        self.backend.carry()

    def close(self) -> None:
        """Stop the workers."""
        self.backend.close()
