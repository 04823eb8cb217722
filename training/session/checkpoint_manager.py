"""Saves the checkpoints of a session, and resumes from them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from ...backends.core.base import Backend
from ...envs import BadParameter, PacError, Task
from ...envs.errors import ImpossibleState
from ..config import Config
from ..runs.checkpoint import CheckpointNotWritten, load_newest
from ..runs.checkpoint_writer import CheckpointWriter
from ..runs.folder import RunFolder
from ..runs.identity import changed_settings, check_identity
from ..runs.metrics import DISCARDED
from ..telemetry.events import EventLog
from ..telemetry.metric_history import COUNTER_NAMES
from ..telemetry.records import Level
from ..telemetry.segment_layout import MAX_HISTORY
from ..trainer import NonFiniteWeights, Trainer
from ..trainers import TrainerKind
from ..units import plural
from .counting import StepCounter
from .failures import FailureHandler
from .resume_point import SAVED, STATES, ResumePoint
from .run_record import RunRecord

MAX_STATE_BYTES = 256 * 2**20


class CheckpointManager:
    """Saves and loads the checkpoints of a session. A session that does not learn saves none.

    A checkpoint that cannot be written is reported, and the training continues.

    Args:
        config: The configuration of the session.
        task: What is trained on.
        kind: The kind of the trainer.
        record: The run folder.
        counter: What was counted.
        events: Where it is reported what was saved and loaded.
        alarm: Called from any thread with a sentence about a checkpoint that cannot be written.

    Attributes:
        pauses: For each checkpoint that was written during the training, the longest time in s that it held it up.
    """

    def __init__(
        self,
        config: Config,
        task: Task,
        kind: TrainerKind,
        record: RunRecord,
        counter: StepCounter,
        *,
        events: EventLog,
        alarm: Callable[[str], None],
    ) -> None:
        self.pauses: list[float] = []
        self._config, self._task, self._units = config, task, kind.units
        self._record, self._counter, self._events, self._alarm = record, counter, events, alarm
        self._writer = CheckpointWriter(record.folder.checkpoints, self._on_written) if record.folder else None
        self._resume_point: ResumePoint | None = None
        self._saved_at = 0.0
        self._description, self._in_background = "", False  # of the checkpoint that is being written
        self._unsaved: CheckpointNotWritten | None = None

    def mark_start(self, backend: Backend | None) -> None:
        """Keep the resume point of a new run, so that a run that ends within its first rollout has a checkpoint."""
        if self._resume_point is None and backend is not None:
            self.mark(backend)

    @property
    def discarded_steps(self) -> int:
        """Environment steps since the end of the last iteration, which no checkpoint contains."""
        return (
            self._counter.counts.steps - self._resume_point.counters["steps"] if self._resume_point is not None else 0
        )

    def mark(self, backend: Backend) -> None:
        """Keep the resume point at the end of an iteration: a checkpoint that is saved later contains this one."""
        if self._record.folder is None:
            return
        state, count = self._task.state, backend.environments
        kept = state is not None and state.row_bytes * count <= MAX_STATE_BYTES and backend.save(self._counter.newest)
        states = backend.buffer["state"][0].copy() if kept else None
        self._resume_point = ResumePoint(self._counter.counts.state(), self._counter.clock.now(), count, states)

    @property
    def due(self) -> bool:
        """Whether it is time for a checkpoint."""
        every, writer = self._config.checkpoint_every, self._writer
        return (
            bool(every)
            and writer is not None
            and not writer.busy
            and self._counter.clock.now() - self._saved_at >= every
        )

    @property
    def saving(self) -> bool:
        """Whether a checkpoint is being written."""
        return self._writer is not None and self._writer.busy

    def save(self, trainer: Trainer, *, wait: bool = False) -> None:
        """Save what was learned by the end of the last iteration.

        Args:
            trainer: Who learned.
            wait: Return when it is written; otherwise it is written in the background.

        Raises:
            CheckpointNotWritten: Weights are not finite, or it could not be written and `wait` is set.
        """
        if self._writer is None or self._resume_point is None:
            return
        begun = time.perf_counter()
        self._saved_at = self._counter.clock.now()
        try:
            tensors, data = trainer.state()
        except NonFiniteWeights as error:
            raise self._lost(error) from error
        point = self._resume_point
        if point.states is not None:
            tensors[STATES] = point.states
        facts = {**self._record.identity, "seed": self._config.seed, **point.facts(), "data": data}
        self._description, self._in_background = self._describe(point.counters), not wait
        if self._in_background:
            self.pauses.append(time.perf_counter() - begun)
        self._writer.save(point.counters["steps"], tensors, facts)
        if not wait:
            return
        self._writer.wait()
        if self._unsaved is not None:
            raise self._lost(self._unsaved)

    def _lost(self, reason: PacError) -> CheckpointNotWritten:
        """Return an error that says what was lost and how to continue."""
        folder = self._record.folder
        resume = f". Continue from the newest checkpoint with --resume {folder.name}" if folder and folder.saved else ""
        return CheckpointNotWritten(f"what was learned last is lost: {reason}{resume}")

    @property
    def streaming(self) -> bool:
        """Whether a checkpoint that is being written waits for slices of the tables that it saves."""
        return self._writer is not None and self._writer.streaming

    def feed(self) -> None:
        """Copy the next slice for the checkpoint that is being written, between two steps."""
        if self._writer is not None and self._writer.streaming:
            begun = time.perf_counter()
            self._writer.feed()
            self.pauses[-1] = max(self.pauses[-1], time.perf_counter() - begun)

    def release(self) -> None:
        """Let the checkpoint read the rest by itself: the workers, which write into what it saves, are about to end."""
        if self._writer is not None:
            self._writer.release()

    def _describe(self, counters: Mapping[str, Any]) -> str:
        """Return how far the training was, such as `4,096 steps`."""
        return f"{counters[self._units.over]:,} {self._units.counted}"

    def _on_written(self, _step: int, error: CheckpointNotWritten | None) -> None:
        self._unsaved = error
        if error is None:
            pause = f"; the training paused for at most {1000 * self.pauses[-1]:.0f} ms" if self._in_background else ""
            self._events.add(Level.GOOD, f"checkpoint at {self._description}{pause}")
        else:
            every = self._config.checkpoint_every
            retry = f"; the next attempt is in {every:g} s" if every and self._in_background else ""
            self._alarm(f"no checkpoint was saved: {error}{retry}")

    def save_last(self, trainer: Trainer, failures: FailureHandler) -> None:
        """Save the last figures and a checkpoint, at the end of a session.

        Args:
            trainer: Who learned.
            failures: Whether the session failed; gets what goes wrong here.
        """
        latest, discarded = self._last_figures(trainer, failures), self.discarded_steps
        if discarded:
            latest |= self._counter.figures()
            steps = plural(self._units.step)
            self._events.add(Level.INFO, f"the last rollout was not finished: its {discarded:,} {steps} are discarded")
        if latest:
            self._counter.series.latest |= latest
            self._record.write_metrics(self._counter.series.latest, discarded=discarded)
        try:
            self.save(trainer, wait=True)
        except CheckpointNotWritten as error:
            failures.error = failures.error or error

    @staticmethod
    def _last_figures(trainer: Trainer, failures: FailureHandler) -> dict[str, float]:
        """Return the figures for the final report; none if the session failed, or fails here."""
        if failures.error is not None:
            return {}
        try:
            return trainer.finish()
        except Exception as error:
            failures.fail(error)
            return {}

    def load(self, trainer: Trainer) -> None:
        """Load the newest checkpoint whose checksums are correct, if a run is to be resumed.

        Raises:
            BadParameter: The run has another task or trainer, or has already reached the limits.
            NoCheckpoint: There is no correct checkpoint.
        """
        if not self._config.resume:
            return
        folder = self._record.source
        check_identity(folder, self._record.identity)
        loaded = load_newest(folder.checkpoints, self._record.identity, SAVED)
        for sentence in loaded.skipped:
            self._events.add(Level.WARNING, sentence)
        point = ResumePoint.loaded(loaded)
        self._check_limits(folder, point)
        trainer.load_state(loaded.tensors, loaded.data["data"])
        if self._config.learn:
            self._continue_counts(folder, point)
        self._record.resumable = True
        changes = changed_settings(folder, self._record.settings)
        self._events.add(
            Level.GOOD, ", ".join((f"resumed {folder.name} at {self._describe(point.counters)}", *changes))
        )

    def _check_limits(self, folder: RunFolder, point: ResumePoint) -> None:
        """Raise an error if the run has already reached a limit."""
        if self._config.learn and self._config.used_up(point.counters, 0.0) >= 1:
            raise BadParameter(
                f"{folder.name} already has {self._describe(point.counters)}. A limit counts the whole run: set a "
                "higher one"
            )

    def _continue_counts(self, folder: RunFolder, point: ResumePoint) -> None:
        """Continue counters, time and curves of a run."""
        done = point.counters["iterations"]
        lines = [line for line in folder.sample_metrics(MAX_HISTORY) if line.keys() >= COUNTER_NAMES]
        rows = [line for line in lines if line["iterations"] <= done and DISCARDED not in line]
        self._counter.resume(point.counters, point.seconds, rows)
        self._resume_point, self._saved_at = point, point.seconds
        self._record.first_started = folder.metadata().get("started")

    def restore(self, backend: Backend) -> bool:
        """Restore the environments' states of the resumed run; return whether that was possible."""
        if not self._config.resume or self._resume_point is None:
            return False
        states = self._resume_point.states
        try:
            restored = states is not None and backend.restore(states)
        except ImpossibleState as error:
            self._events.add(Level.WARNING, f"episodes restart: {error}")
            return False
        if not restored and self._units.episodes:
            self._events.add(Level.INFO, "episodes restart: their states were not saved, or for another N")
        return restored

    def close(self) -> None:
        """Wait until the checkpoint that is being written is complete."""
        if self._writer is not None:
            self._writer.wait()
