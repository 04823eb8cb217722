"""Saves the checkpoints of a session, and resumes from them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...backends.core.base import Backend
from ...envs import BadParameter
from ...envs.errors import ImpossibleState, brief
from ...envs.fields import Array
from ..diagnosis.session_rules import CHECKPOINT_NOT_WRITTEN
from ..limits import MAX_ENVS
from ..runs.checkpoint import Checkpoint, CheckpointNotWritten, CheckpointWriter, load_newest
from ..runs.folder import CHECKPOINTS, RunFolder
from ..runs.identity import changed_settings, check_identity
from ..runs.metrics import DISCARDED
from ..telemetry.counts import TOTALS
from ..telemetry.metric_history import COUNTER_NAMES
from ..telemetry.records import Level
from ..telemetry.segment_layout import MAX_HISTORY
from ..trainer import NonFiniteWeights, Trainer
from .failures import FailureHandler
from .run_record import RunRecord
from .services import Services
from .training_setup import TrainingSetup

MAX_STATE_BYTES = 256 * 2**20
MAX_SECONDS = 1e10
"""Limit of the seconds of a training: three centuries."""
STATES = "environments.state"
SAVED = {"num_envs": int, "counters": dict, "data": dict}
"""The required keys of a checkpoint's data, and their types."""


@dataclass(frozen=True)
class ResumePoint:
    """A training at the end of an iteration, without the state of the trainer.

    Attributes:
        counters: The counters, as `Counts.state` returns them.
        seconds: Seconds of training.
        num_envs: Number of environments N.
        states: Their states, `(N, *stored_shape)`; None if they cannot be saved.
    """

    counters: Mapping[str, Any]
    seconds: float
    num_envs: int
    states: Array | None

    def facts(self) -> dict[str, Any]:
        """Return the JSON data of a checkpoint; the states are saved with the tensors."""
        return {"num_envs": self.num_envs, "counters": dict(self.counters), "seconds": self.seconds}

    @classmethod
    def loaded(cls, found: Checkpoint) -> ResumePoint:
        """Return the resume point in a checkpoint.

        Raises:
            ValueError: A number is not one that a session has counted. Other errors: something has another form.
        """
        facts, states = found.data, found.tensors.get(STATES)
        counters, seconds, num_envs = facts["counters"], facts.get("seconds", 0.0), facts["num_envs"]
        counted = [num_envs, *(counters[name] for name in TOTALS), *counters.get("outcomes", {}).values()]
        if not all(type(number) is int and 0 <= number < 2**63 for number in counted) or not 0 < num_envs <= MAX_ENVS:
            raise ValueError(f"a count is not a whole number of its range: {brief(counted)}")
        if not 0 <= seconds < MAX_SECONDS:
            raise ValueError(f"it was trained for {seconds} s")
        if not all(isinstance(number, int | float) for row in counters.get("recent", ()) for number in row):
            raise ValueError("its last episodes are not numbers")
        kept = None if states is None else np.array(states)
        return cls(counters, float(seconds), num_envs, kept)


class CheckpointManager:
    """Saves and loads the checkpoints of a session. A session that does not learn saves none.

    A checkpoint that cannot be written is reported, and the training continues.

    Attributes:
        wanted: Whether to save a checkpoint at the end of the iteration; set by any thread.
        pauses: For each checkpoint that was written during the training, the longest pause that it caused, in s.
    """

    def __init__(self, setup: TrainingSetup, services: Services, record: RunRecord, failures: FailureHandler) -> None:
        self.wanted = False
        self.pauses: list[float] = []
        self._setup, self._config, self._units = setup, setup.config, setup.kind.units
        self._counter, self._events, self._record, self._failures = services.counter, services.events, record, failures
        self._writer = CheckpointWriter(record.source.entry(CHECKPOINTS), self._on_written)
        self._resume_point: ResumePoint | None = None
        self._saved_at = 0.0
        self._description, self._in_background = "", False  # of the checkpoint that is being written
        self._unsaved: CheckpointNotWritten | None = None
        self._written = 0  # steps of the newest checkpoint of this session

    def mark_start(self, backend: Backend) -> None:
        """Keep the resume point of a new run, so that a run that ends within its first rollout has a checkpoint."""
        if self._resume_point is None:
            self.mark(backend)

    @property
    def discarded_steps(self) -> int:
        """Environment steps since the end of the last iteration, which no checkpoint contains."""
        point = self._resume_point
        return self._counter.counts.steps - point.counters["steps"] if point is not None else 0

    def mark(self, backend: Backend) -> None:
        """Keep the resume point at the end of an iteration, for the next checkpoint."""
        if self._record.folder is None:
            return
        state, count = self._setup.task.state, backend.environments
        kept = state is not None and state.row_bytes * count <= MAX_STATE_BYTES and backend.save(self._counter.newest)
        states = backend.buffer["state"][0].copy() if kept else None
        self._resume_point = ResumePoint(self._counter.counts.state(), self._counter.clock.now(), count, states)

    @property
    def due(self) -> bool:
        """Whether it is time for a checkpoint, or one is wanted."""
        every, since = self._config.checkpoint_every, self._counter.clock.now() - self._saved_at
        timed = self._record.folder is not None and bool(every) and since >= every and not self.saving
        return self.wanted or timed

    @property
    def saving(self) -> bool:
        """Whether a checkpoint is being written."""
        return self._writer.busy

    def save(self, trainer: Trainer, *, wait: bool = False) -> None:
        """Save the state at the end of the last iteration.

        Args:
            trainer: The trainer.
            wait: Whether to return when the checkpoint is written; otherwise it is written in the background.

        Raises:
            CheckpointNotWritten: Weights are not finite, or it could not be written and `wait` is set.
        """
        point, self.wanted = self._resume_point, False
        if self._record.folder is None or point is None:
            return
        begun = time.perf_counter()
        self._writer.wait()  # its thread reads the fields that are set below, and sets `_unsaved` and `_written`
        self._saved_at = self._counter.clock.now()
        try:
            tensors, data = trainer.state()
        except NonFiniteWeights as error:
            raise self.lost(error) from error
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
            raise self.lost(self._unsaved)

    def save_from_other_thread(self, trainer: Trainer) -> None:
        """Save the last resume point while the training thread does not respond, unless that is done.

        Raises:
            CheckpointNotWritten: It could not be written, or is being written and does not end.
        """
        if self.saving:
            raise self.lost("its checkpoint is still being written")
        point = self._resume_point
        if point is not None and point.counters["steps"] != self._written:
            self.save(trainer, wait=True)

    def lost(self, reason: object) -> CheckpointNotWritten:
        """Return an error that says what is lost and how to continue."""
        folder = self._record.folder
        resume = f". Continue from the newest checkpoint with --resume {folder.name}" if folder and folder.saved else ""
        return CheckpointNotWritten(f"what was learned since the last checkpoint is lost: {reason}{resume}")

    def feed(self) -> None:
        """Copy the next slice for the checkpoint that is being written, between two steps."""
        if self._writer.streaming:
            begun = time.perf_counter()
            self._writer.feed()
            self.pauses[-1] = max(self.pauses[-1], time.perf_counter() - begun)

    def release(self) -> None:
        """Let the checkpoint read the remaining arrays without copies: the workers that write into them will end."""
        self._writer.release()

    def _describe(self, counters: Mapping[str, Any]) -> str:
        """Return a text such as `4,096 steps`."""
        return f"{counters[self._units.over]:,} {self._units.counted}"

    def _on_written(self, step: int, error: CheckpointNotWritten | None) -> None:
        """Report a checkpoint, from the writer's thread, which `save` waits for before it changes what is read here."""
        self._unsaved = error
        if error is None:
            self._written = step
            pause = f"; the training paused for at most {1000 * self.pauses[-1]:.0f} ms" if self._in_background else ""
            self._events.add(Level.GOOD, f"checkpoint at {self._description}{pause}")
        else:
            every = self._config.checkpoint_every
            retry = f"; the next attempt is in {every:g} s" if every and self._in_background else ""
            self._failures.report(CHECKPOINT_NOT_WRITTEN, f"no checkpoint was saved: {error}{retry}")

    def load(self, trainer: Trainer) -> None:
        """Load the newest valid checkpoint, if a run is to be resumed.

        Raises:
            BadParameter: The run has another task or trainer, or has already reached a limit.
            NoCheckpoint: There is no valid checkpoint.
        """
        if not self._config.resume:
            return
        folder = self._record.source
        check_identity(folder, self._record.identity)

        def take(found: Checkpoint) -> None:
            ResumePoint.loaded(found)
            trainer.load_state(found.tensors, found.data["data"])

        loaded = load_newest(folder.entry(CHECKPOINTS), self._record.identity, SAVED, take)
        for sentence in loaded.skipped:
            self._events.add(Level.WARNING, sentence)
        point = ResumePoint.loaded(loaded)
        if self._config.learn:
            self._continue_counts(folder, point)
        self._record.resumable = True
        resumed = f"resumed {folder.name} at {self._describe(point.counters)} with N={self._setup.planner.num_envs:,}"
        self._events.add(Level.GOOD, ", ".join((resumed, *changed_settings(folder, self._setup.settings))))

    def _continue_counts(self, folder: RunFolder, point: ResumePoint) -> None:
        """Continue counters, time and curves of a run."""
        done = point.counters["iterations"]
        lines = [line for line in folder.sample_metrics(MAX_HISTORY) if line.keys() >= COUNTER_NAMES]
        rows = [line for line in lines if line["iterations"] <= done and DISCARDED not in line]
        self._check_limits(folder, point, rows[-1] if rows else {})
        self._counter.resume(point.counters, point.seconds, rows)
        self._resume_point, self._saved_at = point, point.seconds
        self._record.first_started = folder.metadata().get("started")

    def _check_limits(self, folder: RunFolder, point: ResumePoint, row: Mapping[str, float]) -> None:
        """Check that a run, whose last iteration has the metrics `row`, has not reached the limits of this session.

        Raises:
            BadParameter: It has.
        """
        if self._config.used_up(point.counters, 0.0) >= 1:
            raise BadParameter(
                f"{folder.name} already has {self._describe(point.counters)}. A limit counts the whole run: set a "
                "higher one"
            )
        until = self._setup.until
        if until is not None and until.holds(row, point.counters["episodes"]):
            raise BadParameter(f"{folder.name} already fulfils --until {until.text(row)}: set another condition")

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
            self._events.add(Level.INFO, "episodes restart: their states were not saved, or with another N")
        return restored

    def close(self) -> None:
        """Wait until the checkpoint that is being written is complete."""
        self._writer.wait()
