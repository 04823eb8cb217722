"""One training: a task, a trainer, a backend, a device and N environments. `Session.run` is the training thread.

Other threads only set requests and words of the gate; the training thread acts on them between two steps.
"""

from __future__ import annotations

import logging
import math
from pathlib import Path
from typing import Any

from ...backends import backend_names, default_num_envs
from ...envs import PacError, UnknownName, find
from ...envs.task import LOOKED_AT
from ..config import Config
from ..device import resolve_device
from ..imports import importing
from ..ranks import Ranks, SingleRank
from ..runs.last_telemetry import keep_last_telemetry
from ..telemetry.records import Level, Phase
from ..trainer import Context, Interrupted, Stopped, Trainer
from ..trainers import build_player, build_trainer, trainer_kind, trainer_settings, transformed_task
from .base_session import BaseSession
from .checkpoint_manager import CheckpointManager
from .environments import SessionEnvs
from .failures import FailureHandler
from .kernel_warmup import KernelWarmup
from .limits import RunLimits
from .num_envs_planner import NumEnvsPlanner
from .report import make_report, setup_events
from .run_record import RunRecord

log = logging.getLogger(__name__)


class Session(BaseSession):
    """A training that viewers can pause, step, slow down, restart with another N, and stop.

    Args:
        config: What to run.
        directory: Where telemetry, gate and socket are.
        headless: Whether it may run without a viewer.

    Attributes:
        kind: The kind of the trainer.
        record: The run folder.
        checkpoints: Saves and loads checkpoints.
        failures: The error that the session ends with, if any.
        envs: The environments.
        limits: The limits of the run.
        ranks: The processes of the training, which decide together.
    """

    def __init__(self, config: Config, directory: Path, *, headless: bool = False) -> None:
        if config.backend not in backend_names():
            raise UnknownName("backend", config.backend, backend_names())
        game = find(config.task)
        self.kind = kind = trainer_kind(config.trainer or game.trainer)
        self.settings = trainer_settings(kind.name, game, config.settings)
        task = transformed_task(kind.name, game, self.settings)
        super().__init__(task, directory, linger=math.inf if headless else config.linger, seed=config.seed)
        self.events.log = log
        self.config = config = config.model_copy(update={"trainer": kind.name})
        planner = NumEnvsPlanner(config.num_envs or task.num_envs or default_num_envs(), kind.units)
        for text in config.breakpoints:
            self.debugger.breakpoints.add(text, planner.num_envs)
        self.failures = FailureHandler(self.events, self.debugger.alarms, self.gate, alarm_exit=config.alarm_exit)
        alarm = self.failures.raise_alarm
        self.ranks: Ranks = SingleRank()
        writes = config.learn and self.ranks.is_writer
        self.record = RunRecord(config, task, kind, self.settings, self.counter, writes=writes, alarm=alarm)
        self.checkpoints = CheckpointManager(
            config, task, kind, self.record, self.counter, events=self.events, alarm=alarm
        )
        self.envs = SessionEnvs(
            self,
            config,
            planner,
            record=self.record,
            checkpoints=self.checkpoints,
            failures=self.failures,
            ranks=self.ranks,
        )
        self.limits = RunLimits(config, self.counter, planner)
        self.debugger.recorder = self.record.episode_recorder(self.events)
        self._wants_checkpoint = False
        self._trainer: Trainer | None = None
        self.state.device = config.device
        self.set_phase(Phase.STARTING, "reading the configuration")
        self.envs.open_first()

    # -- the training thread ------------------------------------------------------------------------------------------

    def run(self) -> dict[str, Any]:
        """Train until a limit, a stop or a failure; return the report. The telemetry outlives the workers.

        Raises:
            PacError: It could not start, or failed; a checkpoint was saved if anything was learned.
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
        with KernelWarmup(self.task, self.config, self.envs.planner.num_envs) as warmup:
            with importing():
                self._trainer = self.debugger.policy = self._build_trainer()
            self.checkpoints.load(self._trainer)
            warmup.wait(lambda: self.set_phase(Phase.STARTING, "compiling the game (first start only)"))
            self.write_metadata("running")
            backend = self.envs.start(self.trainer)
        if self.checkpoints.restore(backend):
            self.monitor.begin(backend)
        self.checkpoints.mark_start(backend)
        for level, text in setup_events(self.task, self.kind, backend, self.state.device):
            self.events.add(level, text)
        self.envs.measure()

    def _build_trainer(self) -> Trainer:
        kind, config = self.kind, self.config
        loading = "loading PyTorch" if kind.computes else kind.units.translate("loading the environments")
        self.set_phase(Phase.STARTING, loading)
        self.state.device = resolve_device(config.device) if kind.computes else "cpu"
        context = Context(
            task=self.task,
            make_envs=self.envs.make,
            settings=self.settings,
            device=self.state.device,
            seed=config.seed,
            timer=self.timer,
            notify=self._notify,
            progress=lambda what, share: self.set_phase(Phase.STARTING, what, progress=share),
            ranks=self.ranks,
            start_processes=self.processes.start,
        )
        if config.learn:
            return build_trainer(kind.name, context)
        return build_player(kind.name, context, greedy=config.greedy)

    def _notify(self, text: str) -> None:
        self.events.add(Level.INFO, text)

    def _loop(self) -> None:
        while not self.ranks.any(self.limits.reached):
            try:
                metrics = self.trainer.iterate()
            except Interrupted:
                self.clock.stop()
                self._apply_requests(interrupted=True)
            else:
                row = self.monitor.end_iteration(metrics)
                self._publish()
                self.record.write_metrics(row)
                if self.envs.backend is not None:
                    self.checkpoints.mark(self.envs.backend)
                self._apply_requests()

    def _apply_requests(self, *, interrupted: bool = False) -> None:
        """Act on the requests of other threads, between two steps; an `interrupted` rollout cannot be continued."""
        if self.ranks.any(self.gate.stopping):
            raise Stopped
        if self._wants_checkpoint or self.checkpoints.due:
            self._wants_checkpoint = False
            self.checkpoints.save(self.trainer)
            self.write_metadata("running")
        self.envs.apply_requests(self.trainer, interrupted=interrupted)

    @property
    def trainer(self) -> Trainer:
        """The algorithm, once it is built."""
        assert self._trainer is not None
        return self._trainer

    @property
    def current_num_envs(self) -> int:
        """The number of environments that are running."""
        return self.envs.num_envs

    # -- each step ----------------------------------------------------------------------------------------------------

    def pass_gate(self) -> None:
        """Wait until the next step is allowed.

        Raises:
            Stopped: The session is to end, or its time is up.
            Interrupted: There is a request for the training thread.
            ProcessFailed: A process of the trainer has failed.
        """
        self.ranks.raise_together(self._pass_own_gate, (Interrupted, Stopped))

    def _pass_own_gate(self) -> None:
        self.processes.check()
        super().pass_gate()
        self.limits.check_time()

    def _while_waiting(self) -> None:
        super()._while_waiting()
        self.checkpoints.feed()
        backend = self.envs.backend
        if backend is not None and LOOKED_AT in backend.buffer and self.gate.paused:
            self.monitor.redraw(lambda: backend.redraw(self.counter.newest))

    def _publish(self) -> None:
        self.state.limit = self.limits.used_up
        self.envs.report_events()
        super()._publish()

    def _on_alarm(self, text: str, env: int, level: Level = Level.WARNING) -> None:
        super()._on_alarm(text, env, self.failures.alarm_level(text, level))

    # -- the end ------------------------------------------------------------------------------------------------------

    def _end(self) -> dict[str, Any]:
        """Save, stop the workers, publish how the session ended; return the report."""
        self.envs.report_events()
        if self._trainer is not None and self.counter.counts.steps:
            self.set_phase(Phase.STOPPING, "saving a checkpoint")
            self.checkpoints.save_last(self._trainer, self.failures)
        if self._nothing_to_keep:
            self.record.remove()
        report = self._report()
        self.set_phase(Phase.STOPPING, "stopping the workers")
        if self._trainer is not None:
            self._trainer.close()
        self.processes.close()
        self.envs.close()
        self.sampler.stop()
        self.checkpoints.close()
        self.record.close()
        failed = self.failures.error is not None
        self.write_metadata("failed" if failed else "completed" if self.limits.reached else "interrupted")
        self.record.release()
        self.set_phase(Phase.FAILED if failed else Phase.ENDED, self.failures.message or "ended")
        if failed:
            keep_last_telemetry(self.directory)
        return report

    @property
    def _nothing_to_keep(self) -> bool:
        """Whether the session was stopped before its first step, or could not start its environments."""
        if self.failures.error is None:
            return not self.counter.counts.steps
        return not self.envs.made and isinstance(self.failures.error, PacError)

    def _report(self) -> dict[str, Any]:
        return make_report(
            self.task,
            self.kind,
            self.envs.summary(),
            counter=self.counter,
            record=self.record,
            checkpoints=self.checkpoints,
            alarms=self.debugger.alarms.messages,
            events=self.events,
        )

    def write_metadata(self, run_state: str) -> None:
        """Write the state of the run into `run.json`; any thread may."""
        self.record.write_metadata(run_state, self.state, self.envs.planner.num_envs, self.failures.message)

    # -- what other threads call --------------------------------------------------------------------------------------

    @property
    def ending(self) -> bool:
        """Whether the session was asked to stop, or is ending by itself."""
        return self.gate.stopping or self.state.ending

    def save_from_watchdog(self) -> None:
        """Save what was learned, if the training thread is in the environments, where nothing is learned.

        Raises:
            CheckpointNotWritten: It could not be written.
        """
        if self.envs.stepping and self._trainer is not None and not self.task.shared:
            self.checkpoints.save(self._trainer, wait=True)

    def stop(self) -> None:
        """Save, stop the workers, end."""
        self.gate.stop()

    def request_checkpoint(self) -> None:
        """Save a checkpoint at the end of the iteration."""
        self._wants_checkpoint = True
