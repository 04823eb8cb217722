"""One live training: a task, a trainer, a backend, a device, N. It owns the training thread.

`Session.run` is that thread. Other threads only set words and wishes; the training thread acts on them between two
steps.
"""

from __future__ import annotations

import logging
import math
import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ...backends import TooManyEnvironments, backend_names, default_num_envs
from ...backends import make as make_backend
from ...backends.core.base import Backend
from ...backends.core.memory import check_room
from ...envs import PacError, UnknownName, find
from ..config import Config
from ..device import resolve_device
from ..imports import importing
from ..loading import unused_variables
from ..past.history import MIN_DEPTH, step_bytes
from ..past.recorder import EpisodeRecorder
from ..runs.checkpoint import CheckpointNotWritten
from ..runs.folder import RunFolder
from ..runs.last_telemetry import keep_last_telemetry
from ..telemetry.records import Level, Phase
from ..trainer import Context, Interrupted, Stopped, Trainer
from ..trainers import build_player, build_trainer, dressed_for, trainer_kind, trainer_settings
from ..units import plural
from .base_session import BaseSession
from .checkpoint_manager import CheckpointManager
from .failures import FailureHandler
from .gated_envs import GatedEnvs
from .kernel_warmup import KernelWarmup
from .num_envs_planner import NumEnvsPlanner
from .report import Environments, make_report
from .sweep import SECONDS

STEP_TIMEOUT = 60.0  # s

log = logging.getLogger(__name__)


class Session(BaseSession):
    """A training that can be paused, stepped, slowed, restarted at another N, and stopped.

    Args:
        config: What to run.
        directory: Where telemetry, gate and socket stand.
        headless: Whether it may run without a viewer.

    Attributes:
        outcome: The error that it ends with, if any.
    """

    def __init__(self, config: Config, directory: Path, *, headless: bool = False) -> None:
        if config.backend not in backend_names():
            raise UnknownName("backend", config.backend, backend_names())
        game = find(config.task)
        self.kind = trainer_kind(config.trainer or game.trainer)
        self.settings = trainer_settings(self.kind.name, game, config.settings)
        task = dressed_for(self.kind.name, game, self.settings)
        super().__init__(task, directory, linger=math.inf if headless else config.linger, seed=config.seed)
        self.events.log = log
        self.config = config.model_copy(update={"trainer": self.kind.name})
        self.planner = NumEnvsPlanner(config.num_envs or task.num_envs or default_num_envs(), self.kind.units)
        self._request_lock = threading.Lock()  # a request and its interruption are one
        for text in config.breakpoints:
            self.debugger.breakpoints.add(text)
        self.failures = FailureHandler(self.events, self.debugger.alarms, self.gate, alarm_exit=config.alarm_exit)
        self.checkpoints = CheckpointManager(
            self.config, self.task, self.settings, self.counter, self.events, alarm=self.failures.raise_alarm
        )
        self.debugger.recorder = self._recorder()
        self._envs: GatedEnvs | None = None
        self._trainer: Trainer | None = None
        self._stepped = False
        self._never_started = True
        self._wants_checkpoint = False
        self.state.device = config.device
        self.set_phase(Phase.STARTING, "reading the configuration")
        self._open_first()

    def _recorder(self) -> EpisodeRecorder:
        """What records episodes, into the folder of the run; one that only plays, into that of the run it plays."""
        config, folder = self.config, self.checkpoints.folder
        if folder is None:
            folder = RunFolder.find(config.runs_dir, config.resume or "")
        return EpisodeRecorder(self.task, config.seed, folder.name, folder.episodes, self.events)

    # -- the training thread ------------------------------------------------------------------------------------------

    def run(self) -> dict[str, Any]:
        """Train until a limit, a stop or a failure; return the report. The telemetry outlives the workers.

        Raises:
            PacError: It could not begin, or failed; a checkpoint was saved if anything was learned.
        """
        try:
            self._begin()
            self._loop()
        except Stopped:
            pass
        except BaseException as error:
            self.failures.fail(error)
        try:
            report = self._end()
        finally:
            self.gate.close()
        if self.failures.error is not None:
            raise self.failures.error
        return report

    def _begin(self) -> None:
        self.sampler.start()
        with KernelWarmup(self.task, self.config, self.planner.num_envs) as warmup:
            with importing():
                self._trainer = self._build_trainer()
            self.checkpoints.resume(self._trainer)
            warmup.finish(lambda: self.set_phase(Phase.STARTING, "compiling the game (first start only)"))
            self.write_metadata("running")
            num_envs = self.planner.num_envs
            if (first := self.planner.first(baseline=self.config.baseline)) != num_envs:
                self._open(first)
            self._start(first, self.trainer.start)
        self._continue()
        self.checkpoints.mark_start(self.backend)
        self._report_setup()
        self._measure()

    def _continue(self) -> None:
        """Let the environments of a resumed run go on where they were."""
        assert self.backend is not None
        if self.checkpoints.restore(self.backend):
            self.monitor.begin(self.backend)

    def _report_setup(self) -> None:
        """Say what was found to run on."""
        assert self.backend is not None
        if self.task.note:
            self.events.add(Level.WARNING, self.task.note)
        for text in unused_variables(os.environ, self.state.device):
            self.events.add(Level.WARNING, text)
        units, num_envs = self.kind.units, self.planner.num_envs
        count = f"{num_envs:,} {units.env if num_envs == 1 else plural(units.env)}"
        where = f", inference on {self.state.device}" if self.kind.computes else ""
        self._notify(f"using transport: {self.backend.name}, {count}{where}")

    def _notify(self, text: str) -> None:
        self.events.add(Level.INFO, text)

    def _while_waiting(self) -> None:
        """Keep viewers informed; show them what environments are at that draw themselves only when asked."""
        super()._while_waiting()
        self.checkpoints.feed()
        backend = self.backend
        if backend is None or "looked_at" not in backend.buffer or not self.gate.paused:
            return
        self.monitor.redraw(lambda: backend.redraw(self.counter.newest))

    def _build_trainer(self) -> Trainer:
        config, kind = self.config, self.kind
        self.set_phase(
            Phase.STARTING, "loading PyTorch" if kind.computes else kind.units.said("loading the environments")
        )
        self.state.device = resolve_device(config.device) if kind.computes else "cpu"
        context = Context(
            task=self.task,
            make_envs=self._make_envs,
            settings=self.settings,
            device=self.state.device,
            seed=config.seed,
            timer=self.timer,
            notify=self._notify,
            progress=lambda what, share: self.set_phase(Phase.STARTING, what, progress=share),
        )
        if config.learn:
            trainer = build_trainer(kind.name, context)
        else:
            trainer = build_player(kind.name, context, greedy=config.greedy)
        self.debugger.policy = trainer
        return trainer

    def _loop(self) -> None:
        while not self._limit_reached():
            try:
                metrics = self.trainer.iterate()
            except Interrupted:
                self.clock.stop()
                self._apply_requests(interrupted=True)
            else:
                row = self.monitor.end_iteration(metrics)
                self._publish()
                self.checkpoints.record(row)
                if self.backend is not None:
                    self.checkpoints.mark(self.backend)
                self._apply_requests()

    @property
    def trainer(self) -> Trainer:
        """The algorithm, once the session has begun."""
        assert self._trainer is not None
        return self._trainer

    @property
    def backend(self) -> Backend | None:
        """What steps the environments; None while there are none."""
        return self._envs.backend if self._envs is not None else None

    @property
    def current_num_envs(self) -> int:
        """The N of the environments that stand."""
        return self.backend.environments if self.backend is not None else self.planner.num_envs

    # -- another number of environments: from the request of a viewer to the first step --------------------------------

    def restart(self, num_envs: int) -> None:
        """Ask for another number of environments; any thread may. The training thread restarts between two steps."""
        with self._request_lock:
            self.planner.request(num_envs)
            self.gate.interrupt()

    def sweep(self, counts: Sequence[int], seconds: float = SECONDS) -> None:
        """Ask for a measurement of several N for some seconds each, and then for the present N; any thread may."""
        self.gate.resume()
        with self._request_lock:
            self.planner.request_sweep(counts, self.current_num_envs, seconds)
            self.gate.interrupt()

    def cancel_sweep(self) -> None:
        """Ask for the N that a sweep returns to, now; any thread may."""
        if (home := self.planner.home) is not None:
            self.restart(home)

    def _apply_requests(self, *, interrupted: bool = False) -> None:
        """Do between two steps what other threads asked for; a rollout that was `interrupted` cannot be continued."""
        if self.gate.stopping:
            raise Stopped
        with self._request_lock:
            decision = self.planner.decide(self.current_num_envs, self.counter.throughput)
            self.gate.cancel_interrupt()
        self.state.progress = decision.progress
        for text in decision.results:
            self.events.add(Level.GOOD, text)
        if self._wants_checkpoint or self.checkpoints.due:
            self._wants_checkpoint = False
            self.checkpoints.checkpoint(self.trainer)
            self.write_metadata("running")
        if interrupted or decision.num_envs != self.current_num_envs:
            self._restart(decision.num_envs)
        elif decision.measures:
            self._measure()
        self.clock.start()

    def _restart(self, num_envs: int) -> None:
        """Restart the environments at another N, or at the one before if that is impossible; what was learned stays."""
        before = self.current_num_envs
        self.clock.stop()
        self.state.target_envs = num_envs
        self.set_phase(Phase.RESTARTING, f"restarting with num_envs={num_envs}...")
        try:
            self._open(num_envs)
            self._start(num_envs, self.trainer.resize)
        except PacError as error:
            back = self.planner.give_up(before)
            more = plural(self.kind.units.environment)
            self.events.add(Level.ERROR, f"{error.title}: {error}. Back to {back} {more}.")
            self._open(back)
            self.trainer.resize(back)
        else:
            self.planner.restarts += 1
            self._notify(f"restarted with num_envs={self.current_num_envs}")
        self._measure()

    def _open_first(self) -> None:
        """Open the session's first segment: for N environments, or for as many as there is memory to look back at."""
        try:
            self._open(self.planner.num_envs)
        except TooManyEnvironments as error:
            if self.config.strict or not error.most:
                raise
            self._open(error.most)
            self.events.add(Level.WARNING, f"{error.reason}: using {error.most:,}")

    def _open(self, num_envs: int) -> None:
        """Publish into a new segment, made for `num_envs`, if there is memory to keep the last steps of so many.

        Raises:
            TooManyEnvironments: There is not.
        """
        check_room(num_envs, MIN_DEPTH * step_bytes(self.task, num_envs), "to keep their last steps")
        self._open_segment(
            num_envs,
            run=self.checkpoints.name,
            folder=str(self.checkpoints.folder.path.resolve()) if self.checkpoints.folder else "",
            trainer=self.kind.name,
            backend=self.config.backend,
            device=self.state.device,
            seed=self.config.seed,
            settings=self.settings,
            units=self.kind.units,
            figures=self.kind.figures,
        )
        self.planner.opened(num_envs)

    def _start(self, num_envs: int, begin: Callable[[int], None]) -> None:
        """Let the trainer `begin` with `num_envs` environments, or with as many as there is memory for."""
        reason, begun = "", False
        while not begun:
            try:
                begin(num_envs)
                begun = True
            except TooManyEnvironments as error:
                if self.config.strict or not error.most:
                    raise
                reason, num_envs = reason or error.reason, error.most
                self._open(num_envs)
        if reason:
            self.events.add(Level.WARNING, f"{reason}: using {num_envs:,}")

    def _make_envs(self, num_envs: int, slots: int) -> GatedEnvs:
        """Make the environments behind the gate; called by the trainer."""
        self._never_started = False
        self.set_phase(self.state.phase, self.kind.units.said("starting the environments"))
        backend = make_backend(
            self.task,
            num_envs,
            self.config.backend,
            strict=self.config.strict,
            slots=slots,
            seed=self.config.seed,
            workers=self.config.workers,
            timeout=max(STEP_TIMEOUT, 2 * self.config.hang_timeout),
            hang_timeout=self.config.hang_timeout,
        )
        self._envs = GatedEnvs(
            backend,
            timer=self.timer,
            monitor=self.monitor,
            checkpoints=self.checkpoints,
            pass_gate=self.pass_gate,
            detach=self._detach,
        )
        self.state.backend = backend.name
        self.sampler.watch(backend)
        return self._envs

    def _detach(self, backend: Backend) -> None:
        """Stop watching `backend`, which is about to close."""
        self.checkpoints.release()
        self.failures.drain(backend)
        self.sampler.watch(None)
        if self.backend is backend:
            self._envs = None

    def _measure(self) -> None:
        """Say that the environments run, and measure them from now on."""
        message = self.planner.measure(self.clock.now(), self.counter.throughput.seconds(self.current_num_envs))
        self.set_phase(Phase.BASELINE if message else Phase.RUNNING, message)
        self.clock.start()
        self.counter.throughput.restart_window(self.counter.mark())

    # -- what is published, and alarms --------------------------------------------------------------------------------

    def _publish(self) -> None:
        self.state.limit = self._limit()
        if self.backend is not None:
            self.failures.drain(self.backend)
        super()._publish()

    def _on_alarm(self, text: str, env: int, level: Level = Level.WARNING) -> None:
        """Report an alarm, which may end the session."""
        super()._on_alarm(text, env, self.failures.level_of(text, level))

    # -- limits, runs and checkpoints ---------------------------------------------------------------------------------

    def pass_gate(self) -> None:
        """Wait until the next step may be; a limit of seconds ends the session here, within the rollout.

        The first step is always made, however long it took to begin.

        Raises:
            Stopped: The session is to end, or its time is up.
            Interrupted: The session wants the training thread between two steps.
        """
        super().pass_gate()
        limit = self.config.seconds
        if limit is not None and self._stepped and not self.planner.sweeping and self._limited_seconds() >= limit:
            raise Stopped
        self._stepped = True

    def _limited_seconds(self) -> float:
        """Seconds of training that count towards the limit: since the start or resume, without baseline and sweeps."""
        now = self.clock.now()
        return now - self.counter.resumed.seconds - self.planner.sweep_seconds(now)

    def _limit(self) -> float:
        return self.config.used_up(self.counter.counts.totals(), self._limited_seconds())

    def _limit_reached(self) -> bool:
        return self._limit() >= 1 and not self.planner.sweeping

    def write_metadata(self, state: str) -> None:
        """Write how the run is into `run.json`; any thread may."""
        self.checkpoints.write_metadata(
            state,
            device=self.state.device,
            num_envs=self.planner.num_envs,
            started=self.state.started,
            error=self.failures.sentence,
        )

    def _end(self) -> dict[str, Any]:
        """Save, stop the workers, say how it ended; return the report."""
        if self.backend is not None:
            self.failures.drain(self.backend)
        if self._trainer is not None and self.counter.counts.steps:
            self.set_phase(Phase.STOPPING, "saving a checkpoint")
            self._record_last(self._trainer)
            self._save_last(self._trainer)
        if self._nothing_to_keep():
            self.checkpoints.forget()
        report = self._report()
        self.set_phase(Phase.STOPPING, "stopping the workers")
        if self._trainer is not None:
            self._trainer.close()
        if self.backend is not None:
            self.backend.close()
        self.sampler.stop()
        self.checkpoints.close()
        failed = self.failures.error is not None
        self.write_metadata("failed" if failed else "completed" if self._limit_reached() else "interrupted")
        self.checkpoints.leave()
        self.set_phase(Phase.FAILED if failed else Phase.ENDED, self.failures.sentence if failed else "ended")
        if failed:
            keep_last_telemetry(self.directory)
        return report

    def _report(self) -> dict[str, Any]:
        backend, planner = self.backend, self.planner
        envs = Environments(
            backend=backend.name if backend else self.config.backend,
            num_envs=self.current_num_envs,
            workers=len(backend.workers) if backend else 0,
            worker_restarts=self.failures.worker_restarts,
            restarts=planner.restarts,
            sweep_seconds=planner.sweep_seconds(self.clock.now()),
        )
        return make_report(
            self.task,
            self.kind,
            self.state.device,
            envs,
            counter=self.counter,
            alarms=self.debugger.alarms.messages,
            checkpoints=self.checkpoints,
            events=self.events,
        )

    def _nothing_to_keep(self) -> bool:
        """Whether the run has nothing worth keeping: it was stopped before its first step, or could not begin."""
        if self.failures.error is None:
            return not self.counter.counts.steps
        return self._never_started and isinstance(self.failures.error, PacError)

    def _record_last(self, trainer: Trainer) -> None:
        """Record the last figures: of the trainer, and of a rollout that was not finished, which is discarded."""
        latest, discarded = self._last_figures(trainer), self.checkpoints.discarded_steps
        if discarded:
            latest |= self.counter.figures()
            self._notify(
                f"the last rollout was not finished: its {discarded:,} {plural(self.kind.units.step)} are discarded"
            )
        if latest:
            self.counter.series.latest |= latest
            self.checkpoints.record(self.counter.series.latest, discarded=discarded)

    def _last_figures(self, trainer: Trainer) -> dict[str, float]:
        """Return what the trainer reports at the end; if it cannot, the session has failed, and ends like any other."""
        if self.failures.error is not None:
            return {}
        try:
            return trainer.finish()
        except Exception as error:
            self.failures.fail(error)
            return {}

    def _save_last(self, trainer: Trainer) -> None:
        """Save what was learned; that it could not be is what the session failed of, if of nothing else."""
        try:
            self.checkpoints.checkpoint(trainer, wait=True)
        except CheckpointNotWritten as error:
            self.failures.error = self.failures.error or error

    # -- where the training thread does not respond -------------------------------------------------------------------

    @property
    def ending(self) -> bool:
        """Whether it was asked to stop, or has begun to by itself."""
        return self.gate.stopping or self.state.ending

    def save_from_watchdog(self) -> None:
        """Save what was learned, if the training thread is where that does not change; called from another thread.

        Raises:
            CheckpointNotWritten: It could not be written.
        """
        if self._envs is not None and self._envs.stepping and self._trainer is not None and not self.task.shared:
            self.checkpoints.checkpoint(self._trainer, wait=True)

    # -- what other threads may ask -----------------------------------------------------------------------------------

    def stop(self) -> None:
        """Save, stop the workers, end."""
        self.gate.stop()

    def request_checkpoint(self) -> None:
        """Save a checkpoint at the end of the iteration."""
        self._wants_checkpoint = True
