"""The environments of a session: it makes them, lends them to the trainer, and exchanges them for another N.

A request interrupts the training thread, which then calls `SessionEnvs.apply_requests` between two steps.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace

from ...backends import TooManyEnvironments, usable_cores
from ...backends import make as make_backend
from ...backends.core.base import Backend
from ...backends.core.memory import check_room
from ...backends.ray_backend.reach import check_cluster
from ...backends.system.segment import SharedMemoryFull
from ...backends.workers.spares import SpareWorkers
from ...envs import PacError
from ...envs.spaces.drawing import SHARE, limit_text
from ...envs.spaces.infos import ROOM, LateNames, number_field, with_room
from ..device import envs_device
from ..past.history import MIN_DEPTH, step_bytes
from ..telemetry.records import Level, Phase
from ..trainer import BufferSpec, Trainer, open_envs
from ..units import plural
from .checkpoint_manager import CheckpointManager
from .failures import FailureHandler
from .gated_envs import GatedEnvs, WaitCheck
from .num_envs_planner import SECONDS
from .passage import Passage
from .run_record import RunRecord
from .services import Services
from .training_setup import TrainingSetup

STEP_TIMEOUT = 60.0  # s
RAY = "ray"
WITHOUT_WORKERS = {"inline", "threads", "device", RAY}


class RestartFailed(PacError):
    """The environments could not be restarted with another N, here or in another process of the training."""

    def __init__(self, text: str = "another process of the training cannot restart its environments") -> None:
        super().__init__(text)


class SessionEnvs:
    """Makes the environments, exchanges them for another N, measures and closes them.

    It calls `watch` with each new backend, and with None before its workers end.

    Attributes:
        made: Whether any environments were made.
        wait_check: Reports code that waits for the device between two steps, with `--check-sync`.
    """

    def __init__(
        self,
        setup: TrainingSetup,
        services: Services,
        passage: Passage,
        record: RunRecord,
        checkpoints: CheckpointManager,
        *,
        failures: FailureHandler,
        watch: Callable[[Backend | None], None],
    ) -> None:
        self.made = False
        self.wait_check = WaitCheck(services.events) if setup.config.check_sync else None
        self._picture_seconds = 0.0
        self._setup, self._config, self._planner = setup, setup.config, setup.planner
        self._ranks, self._units = setup.ranks, setup.kind.units
        self._services, self._events, self._state = services, services.events, services.state
        self._gate, self._clock, self._counter = services.gate, services.clock, services.counter
        self._passage, self._record, self._checkpoints = passage, record, checkpoints
        self._failures, self._watch = failures, watch
        self._envs: GatedEnvs | None = None
        self._late_names: tuple[str, ...] = ()
        self._left_out = False
        self._request_lock = threading.Lock()  # a request and its interruption are atomic

    @property
    def backend(self) -> Backend | None:
        """The backend; None while there are no environments."""
        return self._envs.backend if self._envs is not None else None

    @property
    def num_envs(self) -> int:
        """The number of environments that are running."""
        return self._envs.environments if self._envs is not None else self._planner.num_envs

    @property
    def stepping(self) -> bool:
        """Whether the training thread is in the environments or at the gate."""
        return self._envs is not None and self._envs.stepping

    # -- requests, by any thread --------------------------------------------------------------------------------------

    def restart(self, num_envs: int) -> None:
        """Request another number of environments."""
        with self._request_lock:
            self._planner.request(num_envs)
            self._gate.interrupt()

    def sweep(self, counts: Sequence[int], seconds: float = SECONDS) -> None:
        """Request a measurement of several N for some seconds each, and then the current N."""
        self._gate.resume()
        with self._request_lock:
            self._planner.request_sweep(counts, self.num_envs, seconds)
            self._gate.interrupt()

    def cancel_sweep(self) -> None:
        """Return to the N from before a sweep, now."""
        if (home := self._planner.home) is not None:
            self.restart(home)

    # -- the training thread ------------------------------------------------------------------------------------------

    def apply_requests(self, trainer: Trainer, *, interrupted: bool) -> None:
        """Restart if another N is due, or if the rollout was `interrupted`, since that cannot be continued."""
        with self._request_lock:
            decision = self._ranks.from_writer(self._planner.decide(self.num_envs, self._counter.throughput))
            self._gate.cancel_interrupt()
        self._state.progress = decision.progress
        for text in decision.results:
            self._events.add(Level.GOOD, text)
        if interrupted or decision.num_envs != self.num_envs:
            self._restart(trainer, decision.num_envs)
        elif decision.measures:
            self.measure()
        self._clock.start()

    def _restart(self, trainer: Trainer, num_envs: int) -> None:
        """Restart with another N, or with the previous one if that is impossible; the trainer keeps what it learned."""
        before = self.num_envs
        self._clock.stop()
        self._state.target_envs = num_envs
        self._services.set_phase(Phase.RESTARTING, f"restarting with num_envs={num_envs}...")
        try:
            self._ranks.raise_together(lambda: self._reopen(num_envs, trainer), (RestartFailed,))
        except RestartFailed as error:
            back = self._planner.fall_back(before)
            text = f"{error}. Back to {back} {plural(self._units.environment)}."
            self._events.add(Level.ERROR, text)
            self._open_segment(back)
            self._exchange(trainer, back)
        else:
            self._planner.restarts += 1
            self._events.add(Level.INFO, f"restarted with num_envs={self.num_envs}")
            self._report_unreachable_breakpoints()
        self.measure()

    def _reopen(self, num_envs: int, trainer: Trainer) -> None:
        try:
            self._open_segment(num_envs)
            self._exchange_or_fewer(trainer, num_envs)
        except PacError as error:
            raise RestartFailed(f"{error.title}: {error}") from error

    def _report_unreachable_breakpoints(self) -> None:
        """Report breakpoints of environments that no longer exist."""
        if self._planner.sweeping:
            return
        for text in self._services.debugger.unreachable_breakpoints(self.num_envs):
            count = f"{self.num_envs} {plural(self._units.environment)}"
            self._events.add(Level.WARNING, f"the breakpoint {text!r} cannot hit: there are only {count}")

    def open_first(self) -> None:
        """Open the first telemetry segment, with at most as many environments as there is memory for."""
        try:
            self._open_segment(self._planner.num_envs)
        except TooManyEnvironments as error:
            self._open_segment(self._possible(error))
            self._events.add(Level.WARNING, f"{error.reason}: using {error.most:,}")

    def warm_up(self) -> SpareWorkers:
        """Start workers that compile or load the task's kernels while this process loads everything else.

        So this process does not load the compiler. An error is not reported here, since it occurs again in the workers.
        """
        kernels, config, count = self._setup.task.kernels, self._config, 1
        if config.backend not in WITHOUT_WORKERS:
            count = min(config.workers or usable_cores(), self._planner.num_envs)
        return SpareWorkers(kernels, count if kernels else 0)

    def start(self, trainer: Trainer) -> Backend:
        """Lend the first environments to the trainer, and return their backend."""
        first = self._planner.first(baseline=bool(self._config.baseline))
        if first != self._planner.num_envs:
            self._open_segment(first)
        self._exchange_or_fewer(trainer, first)
        assert self.backend is not None
        return self.backend

    def _open_segment(self, num_envs: int) -> None:
        """Publish into a new telemetry segment for `num_envs`.

        Raises:
            TooManyEnvironments: There is not enough memory for the history of their last steps.
        """
        check_room(num_envs, MIN_DEPTH * step_bytes(self._services.task, num_envs), "to keep their last steps")
        facts = {"backend": self._config.backend, "device": self._state.device, **self._record.facts()}
        self._services.open_segment(num_envs, **facts)
        self._planner.opened(num_envs)

    def _exchange(self, trainer: Trainer, num_envs: int) -> None:
        """Take the environments back from the trainer, close them, and lend it `num_envs` new ones."""
        trainer.detach()
        self.close()
        open_envs(trainer, num_envs, self._make)

    def _exchange_or_fewer(self, trainer: Trainer, num_envs: int) -> None:
        """Exchange the environments for `num_envs`, or for as many as there is memory for."""
        reason = ""
        while True:
            try:
                self._exchange(trainer, num_envs)
                break
            except TooManyEnvironments as error:
                reason, num_envs = reason or error.reason, self._possible(error)
                self._open_segment(num_envs)
        if reason:
            self._events.add(Level.WARNING, f"{reason}: using {num_envs:,}")

    def _possible(self, error: TooManyEnvironments) -> int:
        """Return how many environments there is memory for; with `--strict`, raise the error."""
        if self._config.strict or not error.most or self._ranks.size > 1:
            raise error
        return error.most

    def _make(self, num_envs: int, spec: BufferSpec) -> GatedEnvs:
        """Make environments behind the gate, with the buffer that the trainer needs."""
        services, config = self._services, self._config
        possible = envs_device(config.backend, self._state.device)
        device = possible if spec.on_device else "cpu"
        if not self.made and device != possible:
            self._warn_of_host_memory(possible)
        self.made = True
        if config.backend == RAY:
            check_cluster(config.ray_address, self._show_wait)
        services.set_phase(self._state.phase, self._units.translate("starting the environments"))
        backend = make_backend(
            self._setup.task,
            num_envs,
            config.backend,
            strict=config.strict,
            **spec.options,
            device=device,
            seed=config.seed,
            first_env=self._ranks.first_env(num_envs),
            workers=config.workers,
            timeout=max(STEP_TIMEOUT, 2 * config.hang_timeout),
            hang_timeout=config.hang_timeout,
            ray_address=config.ray_address,
        )
        if config.device_sync:
            self._check_each_step(backend)
        late = LateNames(backend.buffer, self._late_names) if services.task.late else None
        self._envs = GatedEnvs(
            backend,
            services,
            self._passage,
            self._checkpoints,
            check=self.wait_check,
            on_report=self._name_numbers,
            late=late,
        )
        self._state.backend = backend.name
        self._watch(backend)
        return self._envs

    def _name_numbers(self, late: LateNames) -> None:
        """Show numbers that workers have found in infos since the environments were described."""
        services, known = self._services, [item.name for item in self._services.task.info]
        reported, room = late.take(), ROOM - len(self._late_names)
        names, left_out = with_room(reported[:room], known)
        for name in reported[room:]:
            left_out = left_out or f"the number {name} in info is not shown: at most {ROOM} that appear late are"
        if left_out and not self._left_out:
            self._left_out = True
            self._events.add(Level.WARNING, left_out)
        if new := names[len(known) :]:
            for name in new:
                late.add(name)
            self._late_names += new
            fields = (number_field(self._setup.task, name) for name in new)
            try:
                services.update_task(replace(services.task, info=(*services.task.info, *fields)))
            except SharedMemoryFull as error:
                self._events.add(Level.WARNING, f"{', '.join(new)} cannot be shown: {error}")

    def _show_wait(self, seconds: float) -> None:
        """Show for how long a cluster has not answered; raise `Stopped` if the session is to end before its start."""
        self._services.timer.skip()
        self._services.set_phase(self._state.phase, f"connecting to the Ray cluster: {seconds:.0f} s")

    def _warn_of_host_memory(self, possible: str) -> None:
        """Warn that the environments could be on a device, but that the trainer keeps them in host memory."""
        self._events.add(
            Level.WARNING,
            f"{self._setup.kind.name} keeps its environments in host memory, not on the device {possible!r}; only "
            "PPO can keep them there",
        )

    def _check_each_step(self, backend: Backend) -> None:
        from ...backends.device.backend import DeviceBackend

        if isinstance(backend, DeviceBackend):
            backend.check_each_step()
        else:
            text = f"--device-sync checks only the backend device, and has no effect with {backend.name}"
            self._events.add(Level.WARNING, text)

    def measure(self) -> None:
        """Publish that the environments are running, and measure their rates from now on."""
        throughput = self._counter.throughput
        message = self._planner.measure(self._clock.now(), throughput.seconds(self.num_envs))
        self._services.set_phase(Phase.BASELINE if message else Phase.RUNNING, message)
        self._clock.start()
        throughput.restart_window(self._counter.mark())

    def report_events(self) -> None:
        """Report the backend's events, such as failed workers."""
        if self.backend is not None:
            self._failures.report_events(self.backend)
            self._report_slow_pictures(self.backend.picture_seconds)

    def _report_slow_pictures(self, seconds: float) -> None:
        """Report that drawing is limited, and again if a picture takes twice as long."""
        if seconds > 2 * self._picture_seconds and (text := limit_text(seconds)):
            self._picture_seconds = seconds
            self._events.add(Level.WARNING, f"drawing is limited to {SHARE:.0%} of the training: {text}")

    def close(self) -> None:
        """Close the environments, if there are any: nothing reads them any more, and their workers end."""
        if self._envs is None:
            return
        envs, backend = self._envs, self._envs.backend
        self._checkpoints.release()
        if (check := getattr(backend, "sync_check", None)) is not None:  # the cost of `--device-sync`
            self._events.add(Level.INFO, check.report())
        self._failures.report_events(backend)
        self._watch(None)
        self._envs = None
        envs.close()
