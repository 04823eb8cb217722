"""One training: a task, a trainer, a backend, a device and N environments. `Session.run` is the training thread.

Other threads only set requests and words of the gate; the training thread acts on them between two steps.
"""

from __future__ import annotations

import logging
import math
import os
import time
from contextlib import closing, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Any

from ...backends.core.base import Backend
from ...backends.core.status import usage
from ...envs import PacError
from ...envs.task import LOOKED_AT
from ..config import Config
from ..device import TrainingPlace, envs_device, resolve_device
from ..diagnosis.of_run import FOUND
from ..exits import FAILED
from ..imports import importing
from ..loading import unused_variables
from ..runs.checkpoint import CheckpointNotWritten
from ..runs.folder import WORKERS
from ..runs.last_telemetry import keep_last_telemetry
from ..runs.worker_output import WorkerOutput
from ..settings import setting_text
from ..telemetry.declared import encode_clipped
from ..telemetry.findings import Finding
from ..telemetry.processes import ProcessRole, ProcessStatus
from ..telemetry.records import MESSAGE_BYTES, Level, Phase
from ..trainer import Context, Interrupted, Metrics, Stopped, Trainer
from ..trainers import build_player, build_trainer, device_settings
from ..units import plural
from .action_trial import ActionTrial
from .baseline import SessionBaseline
from .checkpoint_manager import CheckpointManager
from .environments import SessionEnvs
from .evaluation import Evaluator
from .failures import FailureHandler
from .kernels import KernelRecorder
from .live_settings import LiveSettings
from .passage import Passage, RunLimits
from .run_record import RunRecord
from .services import Services
from .system_sampler import SystemSampler
from .trainer_processes import ProcessSupervisor
from .training_setup import set_up
from .user_commands import UserCommands

POLL_INTERVAL = 0.1  # s
log = logging.getLogger(__name__)


class Session:
    """A training that viewers can pause, step, slow down, restart with another N, and stop.

    The constructor puts it together: each part gets those before it that it uses.

    Args:
        config: What to run.
        directory: Where telemetry, gate and socket are.
        headless: Whether it may run without a viewer.
        measures: Whether the baseline is remembered, or measured while the training waits.
    """

    def __init__(self, config: Config, directory: Path, *, headless: bool = False, measures: bool = False) -> None:
        self.setup = setup = set_up(config)
        self.directory, self.config = directory, setup.config
        self.services = services = Services(
            setup.task,
            directory,
            linger=math.inf if headless else config.linger,
            seed=config.seed,
            ranks=setup.ranks,
            waiting=self._while_waiting,
            refresh=self._refresh,
        )
        self.events, self.gate, self.clock, self.timer = services.events, services.gate, services.clock, services.timer
        self.state, self.counter, self.debugger = services.state, services.counter, services.debugger
        self.stop = services.stop
        self.events.log = log
        for text in config.breakpoints:
            self.debugger.breakpoints.add(text, setup.planner.num_envs)
        diagnosis = self.debugger.diagnosis
        diagnosis.on_begin = self._on_finding
        self.failures = FailureHandler(self.events, diagnosis, self.gate, alarm_exit=self.config.alarm_exit)
        self._commands = UserCommands(self.events, self.config.on_finding, self.config.on_end)
        self.processes = ProcessSupervisor(setup.task, directory, self.events)
        services.timeline.add_lanes(self.processes.lanes)
        self.evaluator = Evaluator(setup, directory, self.events, services.timeline.add)
        self._trial = ActionTrial(setup, diagnosis.evidence)
        self.record = RunRecord(setup, services, self.failures, self.evaluator)
        self.checkpoints = CheckpointManager(setup, services, self.record, self.failures)
        self.live = LiveSettings(setup, services, self.record)
        folder = self.record.folder
        self._worker_output = WorkerOutput(directory, folder.entry(WORKERS) if folder is not None else None)
        self.limits = RunLimits(self.config, self.counter, setup.planner, setup.ranks, setup.until)
        self.kernels = KernelRecorder(
            lambda: self.state.device if setup.kind.computes else "",
            lambda: self.counter.counts.steps + self.counter.uncounted,
            self.timer.skip,
        )
        self.passage = Passage(services, self.limits, self.processes, setup.ranks, at_gate=self.kernels.pass_gate)
        self.sampler = SystemSampler(
            services,
            self.processes.poll,
            self._worker_output.copy,
            services.worker_timing.update,
            processes=self._trainer_processes,
            learning=lambda: self.learning,
        )
        self.envs = SessionEnvs(
            setup,
            services,
            self.passage,
            self.record,
            self.checkpoints,
            failures=self.failures,
            watch=self._watch_workers,
        )
        self.baseline = SessionBaseline(setup, services, self.envs, wanted=measures)
        self.debugger.recorder = self.record.episode_recorder()
        self._trainer: Trainer | None = None
        self._between = True  # whether the training is between two iterations, with its metrics counted and marked
        self.state.device = config.device
        services.set_phase(Phase.STARTING, "reading the configuration")
        self.envs.open_first()

    def _watch_workers(self, backend: Backend | None) -> None:
        """Publish the workers of a backend from now on; if there is none, keep what the last ones have printed."""
        if backend is None:
            with suppress(OSError):  # the sampler has reported it
                self._worker_output.copy()
        self.sampler.watch(backend)
        self.services.worker_timing.watch(backend)

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
            self.setup.ranks.leave(self.failures.message)
        try:
            report = self._end()
        finally:
            self.gate.close()
            self.setup.ranks.leave()
        if self.failures.error is not None:
            raise self.failures.error
        return report

    def _begin(self) -> None:
        self.sampler.start()
        with closing(self.envs.warm_up()) as workers:
            with importing():
                self._trainer = self.debugger.policy = self._build_trainer()
            self.checkpoints.load(self._trainer)
            self.live.begin()
            while not workers.loaded(POLL_INTERVAL):
                self.services.set_phase(Phase.STARTING, "compiling the game (first start only)")
            self.record.write_metadata("running")
            backend = self.envs.start(self.trainer)
        if self.checkpoints.restore(backend):
            self.services.monitor.begin(backend, resumed=True)
        else:
            self.trainer.restart_episodes()
        self.checkpoints.mark_start(backend)
        self._report_setup(backend)
        self.baseline.begin()
        self.envs.measure()

    def _report_setup(self, backend: Backend) -> None:
        """Report backend and device, and warnings about the task and environment variables."""
        kind, device, num_envs = self.setup.kind, self.state.device, backend.environments
        for text in filter(None, (self.setup.task.note, *unused_variables(os.environ, device))):
            self.events.add(Level.WARNING, text)
        count = f"{num_envs:,} {kind.units.env if num_envs == 1 else plural(kind.units.env)}"
        where = f", inference on {device}" if kind.computes else ""
        self.events.add(Level.INFO, f"using transport: {backend.name}, {count}{where}")

    def _build_trainer(self) -> Trainer:
        setup, kind, config = self.setup, self.setup.kind, self.config
        loading = "loading PyTorch" if kind.computes else kind.units.translate("loading the environments")
        self.services.set_phase(Phase.STARTING, loading)
        self.state.device = resolve_device(config.device) if kind.computes else "cpu"
        if config.learn:
            self._settings_of_device()
        context = Context(
            task=setup.task,
            settings=self.record.settings,
            device=self.state.device,
            seed=config.seed,
            timer=self.timer,
            show_lane=self.services.timeline.add,
            notify=self._notify,
            progress=lambda what, share: self.services.set_phase(Phase.STARTING, what, progress=share),
            ranks=setup.ranks,
            start_processes=self.processes.start,
            frames_left=lambda: self.limits.frames_left,
        )
        if config.learn:
            return build_trainer(kind.name, context)
        return build_player(kind.name, context, greedy=config.greedy)

    def _settings_of_device(self) -> None:
        """Use the settings that follow from the device from now on, and keep them in the run."""
        setup, device, kind = self.setup, self.state.device, self.setup.kind
        rows = setup.planner.num_envs * setup.task.players * setup.ranks.size
        place = TrainingPlace(device, rows, envs_device(setup.config.backend, device) != "cpu")
        given = setup.config.settings
        found = setup.ranks.from_writer(device_settings(kind.name, setup.task, self.record.settings, given, place))
        self.record.settings = {**self.record.settings, **found}
        self.record.of_device = tuple(dict.fromkeys((*self.record.of_device, *found)))  # a resumed run has them already
        if device != "cpu" and found:
            texts = [f"{kind.name}.{name} {setting_text(value)}" for name, value in found.items()]
            self.events.add(Level.INFO, f"because of the device {device}: {', '.join(texts)}")

    def _notify(self, text: str) -> None:
        """Show a sentence of the trainer, now: what it does next may take long."""
        self.events.add(Level.INFO, text)
        self.services.write_events()

    def _loop(self) -> None:
        while not self.limits.check():
            self.record.write_row()
            self._between = False
            try:
                with check.iteration() if (check := self.envs.wait_check) else nullcontext():
                    metrics = self.trainer.iterate()
            except Interrupted:
                self._between = True
                self.clock.stop()
                self._apply_requests(interrupted=True)
            else:
                self.record.row = self.services.monitor.end_iteration(metrics | self.evaluator.collect())
                if self.envs.backend is not None:
                    self.checkpoints.mark(self.envs.backend)
                self._between = True
                self.evaluator.end_iteration(self.counter.counts.iterations, self.trainer)
                self.checkpoints.end_iteration(self.trainer, self.record.row, self.evaluator.evaluating)
                self._trial.end_iteration()
                self.services.publish()
                self._apply_requests()
                self.baseline.end_iteration()

    def _apply_requests(self, *, interrupted: bool = False) -> None:
        """Act on the requests of other threads, between two steps; an `interrupted` rollout cannot be continued."""
        if self.setup.ranks.any(self.gate.stopping):
            raise Stopped
        changed = {} if interrupted else self.live.take()
        if self.checkpoints.due or changed:  # a run that is resumed from before a change would learn otherwise
            self.checkpoints.save(self.trainer)
            self.live.apply(changed, self.trainer)
            self.record.write_metadata("running")
        self.envs.apply_requests(self.trainer, interrupted=interrupted)
        self.kernels.pass_gate()

    @property
    def trainer(self) -> Trainer:
        """The algorithm, once it is built."""
        assert self._trainer is not None
        return self._trainer

    def _while_waiting(self) -> None:
        self.services.wait()
        self.kernels.pass_gate()
        self.checkpoints.feed()
        backend = self.envs.backend
        if backend is not None and LOOKED_AT in backend.buffer:
            self.services.monitor.redraw(lambda: backend.redraw(self.counter.newest), self.gate.wait_seconds)

    def _refresh(self) -> None:
        """Note what is published of the run's limits, and report events of the backend."""
        self.state.limit = self.limits.used_up
        self.envs.report_events()

    def _on_finding(self, finding: Finding) -> None:
        self.services.report_finding(finding, self.failures.ended_by(finding))
        self._commands.found(finding, self._facts())

    def _facts(self) -> dict[str, Any]:
        """Return which run this is, for the user's commands."""
        folder, task = self.record.folder, self.setup.task
        path = "" if folder is None else str(folder.path.resolve())
        return {"run": path, "task": task.spec, "return_mean": self.counter.counts.return_mean}

    # -- the end ------------------------------------------------------------------------------------------------------

    def _end(self) -> dict[str, Any]:
        """Save, stop the workers, publish how the session ended; return the report."""
        self._between = True
        self.clock.stop()
        if self._trainer is not None:
            self._save_last(self._trainer)
        self.kernels.close()
        self.envs.report_events()
        self.counter.count()
        self.services.monitor.diagnose()
        self.record.write_findings()  # before the last line of the metrics, which readers of curves look for
        self._finish_metrics()
        self._report_reason()
        if self._nothing_to_keep:
            self.record.remove()
        workers = len(self.envs.backend.workers) if self.envs.backend is not None else 0
        pauses, discarded = self.checkpoints.pauses, self.checkpoints.discarded_steps
        report = self.record.report(self.envs.num_envs, workers, pauses=pauses, discarded_steps=discarded)
        self.services.set_phase(Phase.STOPPING, "stopping the workers")
        if self._trainer is not None:
            self._trainer.close()
        self.processes.close()
        self.envs.close()
        self.sampler.stop()
        self.checkpoints.close()
        self.record.close()
        failed = self.failures.error is not None
        state = "failed" if failed else "completed" if self.limits.reached else "interrupted"
        self.record.write_metadata(state)
        self.record.release()
        facts = {**self._facts(), "state": state, **self.counter.counts.totals(), FOUND: report[FOUND]}
        self._commands.end(facts, lambda: self.services.set_phase(Phase.STOPPING, "running the commands of the user"))
        self.services.set_phase(Phase.FAILED if failed else Phase.ENDED, self.failures.message or "ended")
        if failed:
            keep_last_telemetry(self.directory)
        return report

    def _save_last(self, trainer: Trainer) -> None:
        """Save what was learned, before everything that is optional; an error here is the session's error."""
        with suppress(Exception):  # it is optional, too
            self.counter.count()
            if self.counter.counts.steps:
                self.services.set_phase(Phase.STOPPING, "saving a checkpoint")
        if self.counter.counts.steps:
            try:
                self.checkpoints.save(trainer, wait=True)
            except CheckpointNotWritten as error:
                self.failures.error = self.failures.error or error

    def _finish_metrics(self) -> None:
        """Write the last line of the metrics, with metrics that take long: the checkpoint is written."""
        discarded, metrics = self.checkpoints.discarded_steps, self._late_metrics()
        if discarded:
            metrics |= self.counter.metrics()
            steps = plural(self.setup.kind.units.step)
            self.events.add(Level.INFO, f"the last rollout was not finished; its {discarded:,} {steps} are discarded")
        self.counter.series.latest |= metrics
        self.checkpoints.finish(self.counter.series.latest)
        if self.record.row or discarded:
            self.record.row = self.counter.series.latest
            self.record.write_row(discarded=discarded)
        self.evaluator.close()
        self._trial.close()
        self.baseline.close()

    def _report_reason(self) -> None:
        """Report by which condition the training ended, or why a condition could not hold."""
        self.record.reason = self.limits.reason
        if self.record.reason and self.limits.fulfilled:
            self.events.add(Level.GOOD, f"the training has reached {self.record.reason}")
        elif self.record.reason:
            for name in self.limits.missing:
                self.events.add(Level.WARNING, f"--until could not hold by {name}, which never had a value")

    def _late_metrics(self) -> Metrics:
        """Return the trainer's metrics for the final report, and the last evaluation if a limit was reached."""
        if self._trainer is None or not self.counter.counts.steps or self.failures.error is not None:
            return {}
        self.services.set_phase(Phase.STOPPING, "computing the last metrics")
        try:
            metrics = self._trainer.finish()
        except Exception as error:
            self.failures.fail(error)
            return {}
        return metrics | (self.evaluator.finish(self._wait_for_evaluation) if self.limits.reached else {})

    def _wait_for_evaluation(self, seconds: float) -> bool:
        """Show for how long the end has waited for the last evaluation; return whether to go on."""
        self.timer.skip()  # the watchdog takes it for progress
        self.services.set_phase(Phase.STOPPING, f"evaluating the policy: {seconds:.0f} s")
        return not self.gate.stopping

    @property
    def _nothing_to_keep(self) -> bool:
        """Whether the session was stopped before its first step, or could not start its environments."""
        if self.failures.error is None:
            return not self.counter.counts.steps
        return not self.envs.made and isinstance(self.failures.error, PacError)

    # -- what other threads call --------------------------------------------------------------------------------------

    @property
    def learning(self) -> bool:
        """Whether the training thread computes outside of the environments."""
        return self._trainer is not None and not self.envs.stepping

    def _trainer_processes(self) -> list[ProcessStatus]:
        """Return this process, which acts, and the processes of the trainer; nothing without the latter."""
        if not (found := self.processes.statuses()):
            return []
        cpu_seconds, rss = usage()
        actor = ProcessStatus(
            role=ProcessRole.ACTOR,
            index=0,
            pid=os.getpid(),
            state=self.state.phase.name.lower(),
            device=self.state.device,
            count=self.counter.counts.steps,
            heartbeat=max(0.0, time.perf_counter() - self.timer.last),
            cpu_seconds=cpu_seconds,
            rss=rss,
        )
        return [actor, *found]

    def save_from_watchdog(self) -> None:
        """Save what was learned, unless the training thread is changing it.

        Weights are those of the last resume point between two iterations, and while the environments make a step,
        except for tasks whose workers learn. The training thread does not respond, so it changes nothing meanwhile.

        Raises:
            CheckpointNotWritten: It could not be written, or is incomplete.
        """
        if self._trainer is None:
            return
        if self._between or (self.envs.stepping and not self.setup.task.shared):
            self.checkpoints.save_from_other_thread(self._trainer)
        else:
            raise self.checkpoints.lost("it was being changed")

    def keep_from_watchdog(self, error: PacError, code: int) -> PacError:
        """Keep what can be kept while the training thread does not respond, before the process ends with an error.

        Return the error, which then says what could not be saved. With another code than `FAILED`, nothing is saved.
        """
        self.failures.error = error
        self.events.add(Level.FATAL, f"{error.title}: {error}")
        failed = code == FAILED
        saving = (self.save_from_watchdog, self.record.write_row) if failed else ()
        write_metadata = partial(self.record.write_metadata, "failed" if failed else "interrupted")
        for part in (*saving, write_metadata, self._publish_error):
            try:
                part()
            except Exception as lost:
                self.events.add(Level.ERROR, f"failed while ending: {type(lost).__name__}: {lost}")
                if part in saving[:1]:
                    self.failures.error = error = type(error)(f"{error}; {lost}")
        return error

    def _publish_error(self) -> None:
        with self.services.writer.write("state") as state:
            state["phase"] = Phase.FAILED
            state["message"] = encode_clipped(str(self.failures.error), MESSAGE_BYTES)
        keep_last_telemetry(self.directory)
