"""One live training: a task, a trainer, a backend, a device, N. It owns the training thread.

`Session.run` is that thread. Other threads only set words and wishes; the training thread acts on them between two
steps.
"""

from __future__ import annotations

import logging
import math
import os
import threading
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..backends import BACKENDS, TooManyEnvironments
from ..backends import make as make_backend
from ..backends.base import Backend
from ..envs import PacError, UnknownName, find
from .config import Config
from .device import resolve_device
from .flags import unused_flags
from .gate import Interrupted, Stopped
from .gated import GatedEnvs
from .keeper import Keeper
from .last import keep_last
from .live import Live
from .past.recorder import Recorder
from .preparation import Preparation
from .records import Level, Phase
from .report import make_report
from .runs import RunFolder
from .sweep import SECONDS, Sweep
from .throughput import WINDOW, knee
from .trainer import Context, Trainer
from .trainers import build_player, build_trainer, dressed_for, trainer_kind, trainer_settings
from .units import plural

BASELINE_ENVS = 1
STEP_TIMEOUT = 60.0  # s

log = logging.getLogger(__name__)


class AlarmRang(PacError):
    """A session ended because an alarm rang, as `alarm_exit` asks."""

    title = "Alarm"


class Session(Live):
    """A training that can be paused, stepped, slowed, restarted at another N, and stopped.

    Args:
        config: What to run.
        directory: Where telemetry, gate and socket stand.
        headless: Whether it may run without a viewer.
    """

    def __init__(self, config: Config, directory: Path, *, headless: bool = False) -> None:
        if config.backend not in BACKENDS:
            raise UnknownName("backend", config.backend, BACKENDS)
        game = find(config.task)
        self.kind = trainer_kind(config.trainer or game.trainer)
        self.settings = trainer_settings(self.kind.name, game, config.settings)
        task = dressed_for(self.kind.name, game, self.settings)
        super().__init__(task, directory, linger=math.inf if headless else config.linger, seed=config.seed)
        self.config = config.model_copy(update={"trainer": self.kind.name})
        self.num_envs = config.num_envs or task.num_envs or default_num_envs()
        for text in config.breakpoints:
            self.monitor.breakpoints.add(text)
        self.keeper = Keeper(self.config, self.task, self.settings, self.monitor, self.events)
        self.monitor.recorder = self._recorder()
        self.backend: Backend | None = None
        self.error: BaseException | None = None
        self.restarts = 0
        self._trainer: Trainer | None = None
        self._wish = threading.Lock()
        self._wanted_envs: int | None = None
        self._wants_checkpoint = False
        self._sweep: Sweep | None = None
        self.device = config.device
        self._say(Phase.STARTING, "reading the configuration")
        self._new_segment(self.num_envs)

    def _recorder(self) -> Recorder:
        """What records episodes, into the folder of the run; one that only plays, into that of the run it plays."""
        config, folder = self.config, self.keeper.folder
        if folder is None:
            folder = RunFolder.find(config.runs_dir, config.resume or "")
        return Recorder(self.task, config.seed, folder.name, folder.episodes, self.events)

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
            self.error = error
            self.events.add(Level.ERROR, str(error) or type(error).__name__)
        report = self._end()
        if self.error is not None:
            raise self.error
        return report

    def _begin(self) -> None:
        self.pulse.start()
        with Preparation(self.task) as preparation:
            self._trainer = self._build_trainer()
            self.keeper.resume(self._trainer)
            preparation.finish(lambda: self._say(Phase.STARTING, "compiling the game (first start only)"))
        self._write_card("running")
        first = BASELINE_ENVS if self.config.baseline and self.num_envs != BASELINE_ENVS else self.num_envs
        if first != self.num_envs:
            self._sweep = Sweep((BASELINE_ENVS,), self.num_envs, WINDOW)
            self._new_segment(first)
        self._start(first, self._trainer.start)
        self._go_on()
        self._announce()
        self._running()

    def _start(self, num_envs: int, begin: Callable[[int], None]) -> None:
        """Begin with `num_envs` environments, or with as many as there is memory for."""
        reason, begun = "", False
        while not begun:
            try:
                begin(num_envs)
                begun = True
            except TooManyEnvironments as error:
                if self.config.strict or not error.most:
                    raise
                reason, num_envs = reason or error.reason, error.most
                self._new_segment(num_envs)
        if reason:
            self.events.add(Level.WARNING, f"{reason}: using {num_envs:,}")

    def _go_on(self) -> None:
        """Let the environments of a resumed run go on where they were."""
        assert self.backend is not None
        if self.keeper.restore(self.backend):
            self.monitor.begin(self.backend)

    def _announce(self) -> None:
        """Say what was found to run on, in the events and in the session's log."""
        assert self.backend is not None
        if self.task.note:
            self.events.add(Level.WARNING, self.task.note)
        for text in unused_flags(os.environ, self.device):
            self.events.add(Level.WARNING, text)
        units = self.kind.units
        count = f"{self.num_envs} {units.env if self.num_envs == 1 else plural(units.env)}"
        self._tell(f"using transport: {self.backend.name}, {count}, inference on {self.device}")

    def _tell(self, text: str) -> None:
        self.events.add(Level.INFO, text)
        log.info(text)

    def _while_closed(self) -> None:
        """Keep viewers informed; show them what environments are at that draw themselves only when asked."""
        super()._while_closed()
        self.keeper.feed()
        backend = self.backend
        if backend is None or "looked_at" not in backend.buffer or not self.gate.paused:
            return
        if self.monitor.lacks_boards():
            backend.redraw(self.monitor.written)
            self.monitor.redrawn()

    def _build_trainer(self) -> Trainer:
        config, kind = self.config, self.kind
        self._say(Phase.STARTING, "loading PyTorch" if kind.computes else "loading the environments")
        self.device = resolve_device(config.device) if kind.computes else "cpu"
        context = Context(self.task, self._make_envs, self.settings, self.device, config.seed, self.timer, self._tell)
        if config.learn:
            trainer = build_trainer(kind.name, context)
        else:
            trainer = build_player(kind.name, context, greedy=config.greedy)
        self.monitor.inspect, self.monitor.values = trainer.inspect, trainer.values
        return trainer

    def _loop(self) -> None:
        assert self._trainer is not None
        while not self._limit_reached():
            try:
                metrics = self._trainer.iterate()
            except Interrupted:
                self.clock.stop()
                self._grant_wishes(anew=True)
            else:
                row = self.monitor.end_iteration(metrics)
                self._publish()
                self.keeper.record(row)
                if self.backend is not None:
                    self.keeper.mark(self.backend)
                self._grant_wishes()

    def _grant_wishes(self, *, anew: bool = False) -> None:
        """Do, between two steps, what other threads asked for; `anew` after a rollout that cannot be continued."""
        assert self._trainer is not None
        if self.gate.stopping:
            raise Stopped
        with self._wish:
            wanted, self._wanted_envs = self._wanted_envs, None
            self.gate.calm()
            checkpoint, self._wants_checkpoint = self._wants_checkpoint, False
        if checkpoint or self.keeper.due:
            self.keeper.checkpoint(self._trainer)
        if self._sweep is not None and wanted is None:
            wanted = self._after(self._sweep)
        if anew or wanted not in {None, self.num_envs_now}:
            self._resize(wanted or self.num_envs_now)
        self.clock.go()

    def _resize(self, num_envs: int) -> None:
        """Restart the environments at another N; what was learned stays. Falls back to the N before when it cannot."""
        assert self._trainer is not None
        before = self.num_envs_now
        self.clock.stop()
        self._say(Phase.RESTARTING, f"restarting with num_envs={num_envs}...", target_envs=num_envs)
        try:
            self._new_segment(num_envs)
            self._start(num_envs, self._trainer.resize)
        except PacError as error:
            back = self._sweep.home if self._sweep is not None else before
            self.events.add(
                Level.ERROR, f"{error.title}: {error}. Back to {back} {plural(self.kind.units.environment)}."
            )
            self._sweep = None
            self._new_segment(back)
            self._trainer.resize(back)
        else:
            self.restarts += 1
            self.events.add(Level.INFO, f"restarted with num_envs={self.num_envs_now}")
        self._running()

    def _running(self) -> None:
        if self._sweep is not None:
            self._sweep.begin(self.monitor.throughput.seconds(self.num_envs_now))
            self._say(Phase.BASELINE, self._sweep.message)
        else:
            self._say(Phase.RUNNING, "")
        self.clock.go()
        self.monitor.throughput.break_off(self.monitor.mark())

    @property
    def num_envs_now(self) -> int:
        """The N of the environments that stand."""
        return self.backend.environments if self.backend is not None else self.num_envs

    def _after(self, sweep: Sweep) -> int | None:
        """Return the N that a sweep goes on to, or home, once the present one was measured; say how far it is."""
        throughput = self.monitor.throughput
        done = sweep.progress(throughput.seconds(self.num_envs_now))
        self.monitor.state["progress"] = done
        if done < 1:
            return None
        if self.num_envs_now == BASELINE_ENVS:
            fps = f"{throughput.baseline:,.0f} {self.kind.units.fps}"
            self.events.add(Level.GOOD, f"baseline: {fps} at num_envs={BASELINE_ENVS}")
        wanted = sweep.next()
        if wanted is None:
            self._sweep, wanted = None, sweep.home
            found = knee([(entry.num_envs, entry.fps) for entry in throughput.scaling()])
            if sweep.counts != (BASELINE_ENVS,) and found is not None:
                more = plural(self.kind.units.environment)
                self.events.add(Level.GOOD, f"swept: up to num_envs={found:,}, more {more} were worth it")
        if wanted == self.num_envs_now:
            self._running()
        return wanted

    def _make_envs(self, num_envs: int, slots: int) -> GatedEnvs:
        """Make the environments behind the gate; called by the trainer."""
        self._say(self.monitor.state["phase"], "starting the environments")
        self.backend = make_backend(
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
        self.monitor.state["backend"] = self.backend.name
        self.pulse.watch(self.backend)
        return GatedEnvs(self.backend, self)

    def let_go(self, backend: Backend) -> None:
        """Stop watching `backend`, which is about to close."""
        self.keeper.release()
        self._drain(backend)
        self.pulse.watch(None)
        if self.backend is backend:
            self.backend = None

    def _new_segment(self, num_envs: int) -> None:
        """Publish into a new segment, made for `num_envs`."""
        self._open_segment(
            num_envs,
            run=self.keeper.name,
            folder=str(self.keeper.folder.path.resolve()) if self.keeper.folder else "",
            trainer=self.kind.name,
            backend=self.config.backend,
            device=self.device,
            seed=self.config.seed,
            settings=self.settings,
            units=self.kind.units,
            figures=self.kind.figures,
        )
        self.num_envs = num_envs if self._sweep is None else self.num_envs

    def _publish(self) -> None:
        self.monitor.state["limit"] = self._limit()
        if self.backend is not None:
            self._drain(self.backend)
        super()._publish()

    def _drain(self, backend: Backend) -> None:
        """Take over what the backend reports."""
        alarms = self.monitor.alarms
        for event in backend.drain_events():
            level, lost = Level[event.level.upper()], event.worker is not None
            self.events.add(level, event.text, event.lo if lost else -1)
            if lost and level >= Level.WARNING:
                alarms.marked.update(range(event.lo, event.hi))
                sentence = event.text.partition("\n")[0]
                alarms.told.append(sentence)
                self._exit_by(sentence)

    def _rang(self, text: str, env: int) -> None:
        """Tell of an alarm, and end if that is wanted."""
        super()._rang(text, env)
        self._exit_by(text)

    def _exit_by(self, text: str) -> None:
        """End because of an alarm, if that is wanted: the next pass of the gate is the last."""
        if self.config.alarm_exit and not self.gate.stopping:
            self.error = AlarmRang(text)
            self.gate.stop()

    # -- limits, runs and checkpoints ---------------------------------------------------------------------------------

    def _limit(self) -> float:
        """Share of the run's limit that is used up, NaN without a limit."""
        config, monitor = self.config, self.monitor
        pairs = (
            (config.steps, monitor.counts.steps),
            (config.frames, monitor.counts.frames),
            (config.episodes, monitor.counts.episodes),
            (config.seconds, monitor.clock.now()),
        )
        return max((used / limit for limit, used in pairs if limit), default=float("nan"))

    def _limit_reached(self) -> bool:
        return self._limit() >= 1 and self._sweep is None

    def _write_card(self, state: str) -> None:
        self.keeper.write_card(state, device=self.device, num_envs=self.num_envs, started=self._started)

    def _end(self) -> dict[str, Any]:
        """Save, stop the workers, say how it ended; return the report."""
        if self._trainer is not None and self.monitor.counts.iterations:
            self._say(Phase.STOPPING, "saving a checkpoint")
            if self.error is None and (last := self._trainer.finish()):
                self.monitor.series.latest |= last
                self.keeper.record(self.monitor.series.latest)
            self.keeper.checkpoint(self._trainer, wait=True)
        report = make_report(self)
        self._say(Phase.STOPPING, "stopping the workers")
        if self._trainer is not None:
            self._trainer.close()
        if self.backend is not None:
            self.backend.close()
        self.pulse.stop()
        self.keeper.close()
        failed = self.error is not None
        self._write_card("failed" if failed else "completed" if self._limit_reached() else "interrupted")
        self.keeper.leave()
        self._say(Phase.FAILED if failed else Phase.ENDED, _sentence(self.error) if failed else "ended")
        if failed:
            keep_last(self.directory)
        return report

    # -- what other threads may ask -----------------------------------------------------------------------------------

    def stop(self) -> None:
        """Save, stop the workers, end."""
        self.gate.stop()

    def restart(self, num_envs: int) -> None:
        """Go on with another number of environments, between the next two steps."""
        with self._wish:
            self._wanted_envs = num_envs
            self._sweep = None
            self.gate.interrupt()

    def measure_baseline(self) -> None:
        """Run one environment for some seconds, then return to N."""
        self.sweep((BASELINE_ENVS,), WINDOW)

    def sweep(self, counts: Sequence[int], seconds: float = SECONDS) -> None:
        """Run several N for some seconds each, then return to the N of now."""
        self.gate.resume()
        with self._wish:
            self._sweep = Sweep(counts, self.num_envs_now, seconds)
            self._wanted_envs = self._sweep.wanted
            self.gate.interrupt()

    def cancel_sweep(self) -> None:
        """Return from a sweep."""
        if (sweep := self._sweep) is not None:
            self.restart(sweep.home)

    def checkpoint_soon(self) -> None:
        """Save a checkpoint at the end of the iteration."""
        with self._wish:
            self._wants_checkpoint = True

    @property
    def sweeping(self) -> bool:
        """Whether a sweep is going on, be it that of the baseline alone."""
        return self._sweep is not None


def default_num_envs() -> int:
    """N when none is asked for: max(8, 4 x the cores that this process may use)."""
    from ..backends import default_num_envs as default

    return default()


def _sentence(error: BaseException | None) -> str:
    if isinstance(error, PacError):
        return f"{error.title}: {error}"
    return "".join(traceback.format_exception_only(error)).strip() if error else ""
