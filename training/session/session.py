"""One training: a task, a trainer, a backend, a device and N environments. `Session.run` is the training thread.

Other threads only set requests and words of the gate; the training thread acts on them between two steps.
"""

from __future__ import annotations

import time
from contextlib import closing, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Any

from ...envs import PacError
from ...envs.task import LOOKED_AT
from ..config import Config
from ..device import resolve_device
from ..imports import importing
from ..runs.checkpoint import CheckpointNotWritten
from ..runs.folder import WORKERS
from ..runs.last_telemetry import keep_last_telemetry
from ..runs.worker_output import WorkerOutput
from ..telemetry.records import Level, Phase
from ..trainer import Context, Interrupted, Metrics, ProcessFailed, Stopped, Trainer
from ..trainers import build_player, build_trainer
from ..units import plural
from .baseline import SessionBaseline
from .checkpoint_manager import CheckpointManager
from .configured_session import ConfiguredSession
from .environments import SessionEnvs
from .limits import RunLimits
from .report import make_report, report_setup
from .run_record import RunRecord
from .wait_check import WaitCheck

POLL_INTERVAL = 0.1  # s
PAUSED_AFTER = 1.0
"""Seconds after which another rank that all wait for counts as paused, so that rates leave that time out."""


class Session(ConfiguredSession):
    """A training that viewers can pause, step, slow down, restart with another N, and stop.

    Args:
        config: What to run.
        directory: Where telemetry, gate and socket are.
        headless: Whether it may run without a viewer.
        measures: Whether the baseline is remembered, or measured while the training waits.

    Attributes:
        record: The run folder.
        checkpoints: Saves and loads checkpoints.
        envs: The environments.
        limits: The limits of the run.
        wants_checkpoint: Whether to save a checkpoint at the end of the iteration; set by any thread.
    """

    def __init__(self, config: Config, directory: Path, *, headless: bool = False, measures: bool = False) -> None:
        super().__init__(config, directory, headless=headless)
        self.record = RunRecord(self)
        self.checkpoints = CheckpointManager(self, self.record)
        self.envs = SessionEnvs(self, self.record, self.checkpoints)
        folder = self.record.folder
        self.worker_output = WorkerOutput(directory, folder.entry(WORKERS) if folder is not None else None)
        self.sampler.add_check(self.worker_output.copy)
        self.limits = RunLimits(self.config, self.counter, self.planner, self.ranks)
        self.baseline = SessionBaseline(self, self.envs, wanted=measures)
        self.debugger.recorder = self.record.episode_recorder()
        self.wait_check = WaitCheck(self.events) if self.config.check_sync else None
        self.wants_checkpoint = False
        self._trainer: Trainer | None = None
        self._row: Metrics = {}  # the figures of the last iteration, while they are not in the metrics
        self._between = True  # whether the training is between two iterations, with its figures counted and marked
        self.state.device = config.device
        self.set_phase(Phase.STARTING, "reading the configuration")
        self.envs.open_first()

    def keep_output(self) -> None:
        """Copy what the workers have printed to the run's folder."""
        with suppress(OSError):  # the sampler has reported it
            self.worker_output.copy()

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
            self.ranks.leave(self.failures.message)
        try:
            report = self._end()
        finally:
            self.gate.close()
            self.ranks.leave()
        if self.failures.error is not None:
            raise self.failures.error
        return report

    def _begin(self) -> None:
        self.sampler.start()
        with closing(self.envs.warm_up()) as workers:
            with importing():
                self._trainer = self.debugger.policy = self._build_trainer()
            self.checkpoints.load(self._trainer)
            while not workers.loaded(POLL_INTERVAL):
                self.set_phase(Phase.STARTING, "compiling the game (first start only)")
            self.record.write_metadata("running")
            backend = self.envs.start(self.trainer)
        if self.checkpoints.restore(backend):
            self.monitor.begin(backend, resumed=True)
        self.checkpoints.mark_start(backend)
        report_setup(self, backend)
        self.baseline.begin()
        self.envs.measure()

    def _build_trainer(self) -> Trainer:
        kind, config = self.kind, self.config
        loading = "loading PyTorch" if kind.computes else kind.units.translate("loading the environments")
        self.set_phase(Phase.STARTING, loading)
        self.state.device = resolve_device(config.device) if kind.computes else "cpu"
        context = Context(
            task=self.task,
            settings=self.settings,
            device=self.state.device,
            seed=config.seed,
            timer=self.timer,
            show_lane=self.timeline.add,
            notify=self._notify,
            progress=lambda what, share: self.set_phase(Phase.STARTING, what, progress=share),
            ranks=self.ranks,
            start_processes=self.processes.start,
            frames_left=lambda: self.limits.frames_left,
        )
        if config.learn:
            return build_trainer(kind.name, context)
        return build_player(kind.name, context, greedy=config.greedy)

    def _notify(self, text: str) -> None:
        """Show a sentence of the trainer, now: what it does next may take long."""
        self.events.add(Level.INFO, text)
        self._write_events()

    def _loop(self) -> None:
        while not self.limits.check():
            self.write_row()
            self._between = False
            try:
                with self.wait_check.iteration() if self.wait_check else nullcontext():
                    metrics = self.trainer.iterate()
            except Interrupted:
                self._between = True
                self.clock.stop()
                self._apply_requests(interrupted=True)
            else:
                self._row = self.monitor.end_iteration(metrics | self.evaluator.collect())
                if self.envs.backend is not None:
                    self.checkpoints.mark(self.envs.backend)
                self._between = True
                self.evaluator.end_iteration(self.counter.counts.iterations, self.trainer)
                self._publish()
                self._apply_requests()
                self.baseline.end_iteration()

    def write_row(self, *, discarded: int = 0) -> None:
        """Write the figures of the last iteration; at the end, later than the figures that arrive late."""
        if self._row:
            self.record.write_metrics(self._row, discarded=discarded)
            self._row = {}

    def _apply_requests(self, *, interrupted: bool = False) -> None:
        """Act on the requests of other threads, between two steps; an `interrupted` rollout cannot be continued."""
        if self.ranks.any(self.gate.stopping):
            raise Stopped
        if self.wants_checkpoint or self.checkpoints.due:
            self.wants_checkpoint = False
            self.checkpoints.save(self.trainer)
            self.record.write_metadata("running")
        self.envs.apply_requests(self.trainer, interrupted=interrupted)

    @property
    def trainer(self) -> Trainer:
        """The algorithm, once it is built."""
        assert self._trainer is not None
        return self._trainer

    # -- each step ----------------------------------------------------------------------------------------------------

    def pass_gate(self) -> None:
        """Wait until the next step is allowed.

        Raises:
            Stopped: The session is to end, or its time is up.
            Interrupted: There is a request for the training thread.
            ProcessFailed: A process of the trainer has failed.
        """
        begun = time.monotonic()
        self.ranks.raise_together(
            self._pass_own_gate, (Interrupted, ProcessFailed, Stopped), partial(self._wait_for_ranks, begun)
        )
        if self.ranks.size > 1:
            self._end_wait_for_ranks()

    def _wait_for_ranks(self, begun: float) -> None:
        """Publish while another rank is slow; if it seems to be paused, with the clock stopped."""
        self._while_waiting()
        if time.monotonic() - begun > PAUSED_AFTER:
            self.clock.stop()

    def _end_wait_for_ranks(self) -> None:
        """Attribute the time since the last lap to waiting for other ranks, unless one was paused."""
        if self.clock.stopped:
            self.clock.start()
            self.timer.skip()
        else:
            self.timer.lap("ranks")

    def _pass_own_gate(self) -> None:
        self.processes.check()
        super().pass_gate()
        self.limits.check_time()

    def hold(self) -> None:
        """Wait while the session is paused, without a step; raises as `pass_gate`."""
        self.processes.check()
        super().hold()
        self.limits.check_time()

    def _while_waiting(self) -> None:
        super()._while_waiting()
        self.checkpoints.feed()
        backend = self.envs.backend
        if backend is not None and LOOKED_AT in backend.buffer:
            self.monitor.redraw(lambda: backend.redraw(self.counter.newest), self.gate.wait_seconds)

    def _publish(self) -> None:
        self.state.limit = self.limits.used_up
        self.envs.report_events()
        super()._publish()

    def _on_alarm(self, text: str, env: int, level: Level = Level.WARNING) -> None:
        super()._on_alarm(text, env, self.failures.alarm_level(text, level))

    # -- the end ------------------------------------------------------------------------------------------------------

    def _end(self) -> dict[str, Any]:
        """Save, stop the workers, publish how the session ended; return the report."""
        self._between = True
        self.clock.stop()
        if self._trainer is not None:
            self._save_last(self._trainer)
        self.envs.report_events()
        self.counter.count()
        self._finish_figures()
        if self._nothing_to_keep:
            self.record.remove()
        report = make_report(self, self.envs, self.record, self.checkpoints)
        self.set_phase(Phase.STOPPING, "stopping the workers")
        if self._trainer is not None:
            self._trainer.close()
        self.processes.close()
        self.envs.close()
        self.sampler.stop()
        self.checkpoints.close()
        self.record.close()
        failed = self.failures.error is not None
        self.record.write_metadata("failed" if failed else "completed" if self.limits.reached else "interrupted")
        self.record.release()
        self.set_phase(Phase.FAILED if failed else Phase.ENDED, self.failures.message or "ended")
        if failed:
            keep_last_telemetry(self.directory)
        return report

    def _save_last(self, trainer: Trainer) -> None:
        """Save what was learned, before everything that is optional; an error here is the session's error."""
        with suppress(Exception):  # it is optional, too
            self.counter.count()
            if self.counter.counts.steps:
                self.set_phase(Phase.STOPPING, "saving a checkpoint")
        if self.counter.counts.steps:
            try:
                self.checkpoints.save(trainer, wait=True)
            except CheckpointNotWritten as error:
                self.failures.error = self.failures.error or error

    def _finish_figures(self) -> None:
        """Write the last line of the metrics, with figures that take long: the checkpoint is written."""
        discarded, figures = self.checkpoints.discarded_steps, self._late_figures()
        if discarded:
            figures |= self.counter.figures()
            steps = plural(self.kind.units.step)
            self.events.add(Level.INFO, f"the last rollout was not finished; its {discarded:,} {steps} are discarded")
        self.counter.series.latest |= figures
        if self._row or discarded:
            self._row = self.counter.series.latest
            self.write_row(discarded=discarded)
        self.evaluator.close()
        self.baseline.close()

    def _late_figures(self) -> Metrics:
        """Return the trainer's figures for the final report, and the last evaluation if a limit was reached."""
        if self._trainer is None or not self.counter.counts.steps or self.failures.error is not None:
            return {}
        self.set_phase(Phase.STOPPING, "computing the last figures")
        try:
            figures = self._trainer.finish()
        except Exception as error:
            self.failures.fail(error)
            return {}
        return figures | (self.evaluator.finish(self._wait_for_evaluation) if self.limits.reached else {})

    def _wait_for_evaluation(self, seconds: float) -> bool:
        """Show for how long the end has waited for the last evaluation; return whether to go on."""
        self.timer.skip()  # the watchdog takes it for progress
        self.set_phase(Phase.STOPPING, f"evaluating the policy: {seconds:.0f} s")
        return not self.gate.stopping

    @property
    def _nothing_to_keep(self) -> bool:
        """Whether the session was stopped before its first step, or could not start its environments."""
        if self.failures.error is None:
            return not self.counter.counts.steps
        return not self.envs.made and isinstance(self.failures.error, PacError)

    # -- what other threads call --------------------------------------------------------------------------------------

    @property
    def ending(self) -> bool:
        """Whether the session was asked to stop, or is ending by itself."""
        return self.gate.stopping or self.state.ending

    @property
    def learning(self) -> bool:
        """Whether the training thread computes outside of the environments."""
        return self._trainer is not None and not self.envs.stepping

    def save_from_watchdog(self) -> None:
        """Save what was learned, unless the training thread is changing it.

        Weights are those of the last resume point between two iterations, and while the environments make a step,
        except for tasks whose workers learn. The training thread does not respond, so it changes nothing meanwhile.

        Raises:
            CheckpointNotWritten: It could not be written, or is incomplete.
        """
        if self._trainer is None:
            return
        if self._between or (self.envs.stepping and not self.task.shared):
            self.checkpoints.save_from_other_thread(self._trainer)
        else:
            raise self.checkpoints.lost("it was being changed")

    def stop(self) -> None:
        """Save, stop the workers, end."""
        self.gate.stop()
