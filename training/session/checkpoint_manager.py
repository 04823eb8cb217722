"""Keeps a run on disk: its folder, its metadata, its metrics and its checkpoints."""

from __future__ import annotations

import atexit
import shutil
import time
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Any

from ...backends.core.base import Backend
from ...envs import BadParameter, PacError, Task
from ...envs.errors import ImpossibleState
from ..config import Config
from ..guards.alarms import QUIET_SECONDS, Alarm
from ..runs.checkpoint import CheckpointNotWritten, load_newest
from ..runs.checkpoint_writer import CheckpointWriter
from ..runs.folder import RunFolder, new_name
from ..runs.identity import changed_settings, check_identity, run_identity
from ..runs.metrics import DISCARDED
from ..runs.tensorboard_log import TensorBoardLog
from ..telemetry.events import EventLog
from ..telemetry.metric_history import COUNTER_NAMES
from ..telemetry.records import Level
from ..telemetry.segment_layout import MAX_HISTORY
from ..telemetry.throughput import RATE_NAMES
from ..trainer import NonFiniteWeights, Trainer
from ..trainers import trainer_kind
from .counting import StepCounter
from .resume_point import SAVED, STATES, ResumePoint

MOST_STATES = 256 * 2**20  # bytes


class CheckpointManager:
    """Writes a session's run; one that only plays keeps nothing.

    What cannot be written is told, and never the end of the training.

    Args:
        config: What is run.
        task: What is trained on.
        settings: The trainer's settings.
        counter: What was counted, and the figures.
        events: Where it is told how saving goes.
        alarm: Called from any thread with a sentence about what cannot be written.

    Attributes:
        folder: The run's folder, or None if nothing is kept.
        pauses: Seconds that the training stood still at most for each checkpoint that was begun while it went on.
    """

    def __init__(
        self,
        config: Config,
        task: Task,
        settings: Mapping[str, Any],
        counter: StepCounter,
        events: EventLog,
        *,
        alarm: Callable[[str], None],
    ) -> None:
        self._config, self._task, self._settings = config, task, settings
        self._kind = trainer_kind(config.trainer or task.trainer)
        self._origin = run_identity(task, self._kind.name)
        self._begun = not config.resume
        self._counter, self._events, self._alarm = counter, events, alarm
        self._unwritten = Alarm(QUIET_SECONDS)
        self._unsaved: CheckpointNotWritten | None = None
        self.folder = self._open()
        self.pauses: list[float] = []
        self._resume_point: ResumePoint | None = None
        self._saved_at = 0.0
        self._started: float | None = None
        self._saving, self._beside = "", False
        self._saver = CheckpointWriter(self.folder.checkpoints, self._told) if self.folder else None
        self._curves = TensorBoardLog(self.folder.path if self.folder else None)

    def _open(self) -> RunFolder | None:
        config = self._config
        if not config.learn:
            return None
        if config.resume:
            folder = RunFolder.find(config.runs_dir, config.resume)
            folder.claim()
            shutil.rmtree(folder.last, ignore_errors=True)
            return folder
        task = self._task.title if ":" in self._task.name else self._task.name  # the class, without its module
        folder = RunFolder.create(config.runs_dir, config.name or new_name(task, self._kind.name))
        folder.claim()
        config_facts = {**config.model_dump(mode="json"), "settings": dict(self._settings)}
        folder.write_initial_metadata(
            {"id": folder.name, **self._origin, "started": time.time(), "config": config_facts}
        )
        atexit.register(folder.remove_if_empty)
        return folder

    @property
    def name(self) -> str:
        """The run's name."""
        if self.folder is not None:
            return self.folder.name
        return f"{RunFolder.find(self._config.runs_dir, str(self._config.resume)).name} (playing)"

    def write_metadata(self, state: str, *, device: str, num_envs: int, started: float, error: str = "") -> None:
        """Write `run.json`; that of a run which could not be resumed stays as it was.

        Args:
            state: `running`, `completed` (a limit was reached), `interrupted` or `failed`.
            device: Where the policy runs.
            num_envs: Number of environments N.
            started: When the session was, in s since the epoch; a run keeps when its first one was.
            error: What it failed of.
        """
        if self.folder is None or not self._begun:
            return
        metadata = {
            "id": self.folder.name,
            **self._origin,
            "device": device,
            "num_envs": num_envs,
            "started": self._started or started,
            "written": time.time(),
            "version": version("pac-tui"),
            "state": state,
            **({"error": error} if error else {}),
            "return_mean": self._counter.counts.return_mean,
            **{figure.name: self._counter.series.latest.get(figure.name) for figure in self._kind.figures},
            **self._counter.counts.totals(),
            "config": {**self._config.model_dump(mode="json"), "settings": dict(self._settings)},
        }
        self._try("run.json", lambda folder: folder.write_metadata(metadata))

    def record(self, row: Mapping[str, float], *, discarded: int = 0) -> None:
        """Append an iteration's figures to the run's metrics; `discarded` steps since then were not learned from."""
        figures = {
            **self._counter.counts.totals(),
            "seconds": round(self._counter.clock.now(), 3),
            **dict.fromkeys(RATE_NAMES),
            **row,
            **({DISCARDED: discarded} if discarded else {}),
        }
        self._try("metrics.jsonl", lambda folder: folder.append_metrics(figures))
        self._try("tensorboard", lambda _: self._curves.add(row, self._counter.counts.steps))

    def _try(self, what: str, write: Callable[[RunFolder], None]) -> None:
        if self.folder is None:
            return
        try:
            write(self.folder)
        except OSError as error:
            if self._unwritten.begins(self._counter.clock.now(), active=True):
                self._alarm(f"cannot write {self.folder.path / what}: {error.strerror}; training goes on without it")

    def mark_start(self, backend: Backend | None) -> None:
        """Note where a new run begins, so that one that ends within its first rollout has a checkpoint, too."""
        if self._resume_point is None and backend is not None:
            self.mark(backend)

    @property
    def discarded_steps(self) -> int:
        """Environment steps since the end of the last iteration: no checkpoint knows of them."""
        return (
            self._counter.counts.steps - self._resume_point.counters["steps"] if self._resume_point is not None else 0
        )

    def mark(self, backend: Backend) -> None:
        """Note where the training stands, at the end of an iteration: what is saved later is saved as of now."""
        if self.folder is None:
            return
        state, count = self._task.state, backend.environments
        kept = state is not None and state.row_bytes * count <= MOST_STATES and backend.save(self._counter.newest)
        states = backend.buffer["state"][0].copy() if kept else None
        self._resume_point = ResumePoint(self._counter.counts.state(), self._counter.clock.now(), count, states)

    @property
    def due(self) -> bool:
        """Whether it is time for a checkpoint."""
        every, saver = self._config.checkpoint_every, self._saver
        return (
            bool(every) and saver is not None and not saver.busy and self._counter.clock.now() - self._saved_at >= every
        )

    @property
    def saving(self) -> bool:
        """Whether a checkpoint is being written."""
        return self._saver is not None and self._saver.busy

    def checkpoint(self, trainer: Trainer, *, wait: bool = False) -> None:
        """Save what was learned by the end of the last iteration, beside the training unless told to `wait`.

        Raises:
            CheckpointNotWritten: There is nothing worth it, or it was waited for, and could not be written.
        """
        if self._saver is None or self._resume_point is None:
            return
        begun = time.perf_counter()
        self._saved_at = self._counter.clock.now()
        try:
            tensors, data = trainer.state()
        except NonFiniteWeights as error:
            raise self._lost(error) from error
        resume_point = self._resume_point
        if resume_point.states is not None:
            tensors[STATES] = resume_point.states
        facts = {**self._origin, "seed": self._config.seed, **resume_point.facts(), "data": data}
        self._saving = self._said(resume_point.counters)
        self._beside = not wait
        if self._beside:
            self.pauses.append(time.perf_counter() - begun)
        self._saver.save(resume_point.counters["steps"], tensors, facts)
        if not wait:
            return
        self._saver.wait()
        if self._unsaved is not None:
            raise self._lost(self._unsaved)

    def _lost(self, reason: PacError) -> CheckpointNotWritten:
        """Say that what was learned last cannot be saved, and what is left."""
        again = f": --resume {self.name} goes on from the newest" if self.folder and self.folder.saved else ""
        return CheckpointNotWritten(f"what was learned last is lost: {reason}{again}")

    @property
    def streaming(self) -> bool:
        """Whether a checkpoint waits for more of what it saves."""
        return self._saver is not None and self._saver.streaming

    def feed(self) -> None:
        """ManualControl the checkpoint its next slice, between two steps."""
        if self._saver is not None and self._saver.streaming:
            begun = time.perf_counter()
            self._saver.feed()
            self.pauses[-1] = max(self.pauses[-1], time.perf_counter() - begun)

    def release(self) -> None:
        """Let the checkpoint have the rest of what it saves: its writers are about to end."""
        if self._saver is not None:
            self._saver.release()

    def _said(self, counters: Mapping[str, Any]) -> str:
        """How far the training was, in its trainer's words."""
        units = self._kind.units
        return f"{counters[units.over]:,} {units.counted}"

    def _told(self, _step: int, error: CheckpointNotWritten | None) -> None:
        self._unsaved = error
        if error is None:
            pause = f"; the training stood still for {1000 * self.pauses[-1]:.0f} ms at most" if self._beside else ""
            self._events.add(Level.GOOD, f"checkpoint at {self._saving}{pause}")
        else:
            every = self._config.checkpoint_every
            again = f"; the next try is in {every:g} s" if every and self._beside else ""
            self._alarm(f"no checkpoint was saved: {error}{again}")

    def resume(self, trainer: Trainer) -> None:
        """Load the newest checkpoint that verifies, if a run is to be resumed.

        Raises:
            BadParameter: The run is of another task or trainer, or has reached the limit that is asked for.
            NoCheckpoint: None verifies.
        """
        if not self._config.resume:
            return
        folder = RunFolder.find(self._config.runs_dir, self._config.resume)
        check_identity(folder, self._origin)
        loaded = load_newest(folder.checkpoints, self._origin, SAVED)
        for sentence in loaded.skipped:
            self._events.add(Level.WARNING, sentence)
        resume_point = ResumePoint.saved(loaded)
        self._refuse_the_end(folder, resume_point)
        trainer.load_state(loaded.tensors, loaded.data["data"])
        if self._config.learn:
            self._continue(folder, resume_point)
        self._begun = True
        told = ", ".join(
            (f"resumed {folder.name} at {self._said(resume_point.counters)}", *changed_settings(folder, self._settings))
        )
        self._events.add(Level.GOOD, told)

    def _refuse_the_end(self, folder: RunFolder, resume_point: ResumePoint) -> None:
        """Raise what says that a run has reached the limit that is asked for."""
        if self._config.learn and self._config.used_up(resume_point.counters, 0.0) >= 1:
            raise BadParameter(
                f"{folder.name} has {self._said(resume_point.counters)} already, and a limit counts the "
                "whole run: ask for more"
            )

    def _continue(self, folder: RunFolder, resume_point: ResumePoint) -> None:
        """Let counters, time and curves go on where the run stood."""
        done = resume_point.counters["iterations"]
        lines = [line for line in folder.sample_metrics(MAX_HISTORY) if line.keys() >= COUNTER_NAMES]
        rows = [line for line in lines if line["iterations"] <= done and DISCARDED not in line]
        self._counter.resume(resume_point.counters, resume_point.seconds, rows)
        self._resume_point, self._saved_at = resume_point, resume_point.seconds
        self._started = folder.metadata().get("started")

    def restore(self, backend: Backend) -> bool:
        """Let the environments go on where a resumed run stood; return whether they do."""
        if not self._config.resume or self._resume_point is None:
            return False
        states = self._resume_point.states
        try:
            restored = states is not None and backend.restore(states)
        except ImpossibleState as error:
            self._events.add(Level.WARNING, f"episodes begin anew: {error}")
            return False
        if not restored and self._kind.units.episodes:
            self._events.add(Level.INFO, "episodes begin anew: their states were not saved, or for another N")
        return restored

    def close(self) -> None:
        """Finish what is being written."""
        if self._saver is not None:
            self._saver.wait()
        self._try("tensorboard", lambda _: self._curves.close())

    def forget(self) -> None:
        """Leave nothing of a new run."""
        if self.folder is not None and not self._config.resume:
            self.folder.remove()
            self.folder.release()
            self.folder = None

    def leave(self) -> None:
        """Let others go on with the run."""
        if self.folder is not None:
            self.folder.release()
