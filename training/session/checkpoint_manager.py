"""Saves the checkpoints of a session, and resumes from them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from ...backends.core.base import Backend
from ...envs import BadParameter
from ...envs.entries import FolderEntry
from ...envs.errors import ImpossibleState
from ..checkpoint_choice import LAST, Kept
from ..diagnosis.session_rules import CHECKPOINT_NOT_WRITTEN
from ..runs.checkpoint import (
    Best,
    Checkpoint,
    CheckpointNotWritten,
    CheckpointWriter,
    best_of,
    load_newest,
    newer_than,
)
from ..runs.folder import CHECKPOINTS, RunFolder
from ..runs.identity import changed_settings, check_identity
from ..runs.metrics import DISCARDED
from ..telemetry.changes import changes_between, changes_in
from ..telemetry.metric_history import COUNTER_NAMES
from ..telemetry.records import Level
from ..telemetry.segment_layout import MAX_HISTORY
from ..trainer import NonFiniteWeights, Trainer
from .best_state import BestState, Copied
from .failures import FailureHandler
from .resume_point import STATES, ResumePoint
from .run_record import RunRecord
from .services import Services
from .training_setup import TrainingSetup

MAX_STATE_BYTES = 256 * 2**20
BEST_SECONDS, BEST_SHARE = 10.0, 0.01
"""The least time in s between two checkpoints that are saved only as the best one, and the most of it for copies."""
SAVED = {"num_envs": int, "counters": dict, "data": dict}
"""The required keys of a checkpoint's data, and their types."""


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
        self._kept = Kept.parse(self._config.keep)
        self._best = BestState(setup)
        self._marked: Best | None = None  # of the checkpoint that is being written
        self._best_due = 0.0
        self._number = 0  # checkpoints of this run, without those that were saved only as the best one
        self._numbered = -1  # the steps of the last one
        self._replaced: tuple[str, ...] = ()  # checkpoints after the one that was resumed

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
        copied = self._copy(trainer, point, begun)
        if self._numbered != point.counters["steps"]:
            self._number, self._numbered = self._number + 1, point.counters["steps"]
        best = self._best.current if self._kept.best and self._best.is_better(self._best.current) else None
        best = replace(best, only=False) if best is not None else None
        self._write(copied, best, wait=wait)
        if wait and self._unsaved is not None:
            raise self.lost(self._unsaved)

    def _copy(self, trainer: Trainer, point: ResumePoint, begun: float) -> Copied:
        """Return the state at the end of the last iteration."""
        try:
            tensors, data = trainer.state()
        except NonFiniteWeights as error:
            raise self.lost(error) from error
        return Copied(point, tensors, data, time.perf_counter() - begun)

    def _write(self, copied: Copied, best: Best | None, *, wait: bool) -> None:
        """Write a checkpoint; no other one is being written."""
        point, only = copied.point, best is not None and best.only
        states = {STATES: point.states} if point.states is not None else {}
        facts = {**self._record.identity, "seed": self._config.seed, **point.facts(), "data": copied.data}
        self._description, self._in_background, self._marked = self._describe(point.counters), not wait, best
        if self._in_background:
            self.pauses.append(copied.pause)
        if best is not None:
            self._best_due = self._counter.clock.now() + max(BEST_SECONDS, copied.pause / BEST_SHARE)
        self._writer.save(
            point.counters["steps"],
            {**copied.tensors, **states},
            {**facts, "number": self._number},
            best=best,
            lasting=not only and self._kept.every > 0 and self._number % self._kept.every == 0,
            replaced=self._replaced,
        )
        if wait:
            self._writer.wait()

    def end_iteration(self, trainer: Trainer, row: Mapping[str, float], evaluating: int | None) -> None:
        """Save the state of an iteration if it is the best so far, or keep a copy of it while it is evaluated.

        Args:
            trainer: The trainer.
            row: The metrics of the iteration, with the last results of evaluations.
            evaluating: The iteration whose policy is being evaluated.
        """
        point, best = self._resume_point, self._best
        if not self._kept.best or self._record.folder is None or point is None:
            return
        begun, counts = time.perf_counter(), self._counter.counts
        best.take(row, counts.episodes)
        if best.wants_copy(counts.iterations):
            with suppress(CheckpointNotWritten):  # such a state is not evaluated either
                best.keep(counts.iterations, self._copy(trainer, point, begun), evaluating)
        if self.saving or self.due or self._counter.clock.now() < self._best_due:
            return
        if best.waiting is not None:
            self._write_evaluated()
        elif best.is_better(best.current):
            with suppress(CheckpointNotWritten):  # the next checkpoint reports it
                self._write(self._copy(trainer, point, begun), best.current, wait=False)

    def _write_evaluated(self, *, wait: bool = False) -> None:
        """Write the best evaluated state."""
        if self._best.waiting is not None:
            (found, copied), self._best.waiting = self._best.waiting, None
            self._write(copied, found, wait=wait)

    def finish(self, row: Mapping[str, float]) -> None:
        """Save the best evaluated state at the end of a session, after its last checkpoint.

        Args:
            row: The metrics at the end, with the results of the last evaluation.
        """
        if self._kept.best and self._record.folder is not None and self._resume_point is not None:
            self._best.take(row, self._counter.counts.episodes)
            self._writer.wait()
            self._write_evaluated(wait=True)

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
            self._written, self._replaced = max(self._written, step), ()
            if self._marked is not None:
                self._best.saved = self._marked
                if self._marked.only:  # `runs show` names it, and there may be many
                    return
            pause = f"; the training paused for at most {1000 * self.pauses[-1]:.0f} ms" if self._in_background else ""
            best = f", the best so far by {self._marked.metric}" if self._marked is not None else ""
            self._events.add(Level.GOOD, f"checkpoint at {self._description}{best}{pause}")
        else:
            every = self._config.checkpoint_every
            retry = f"; the next attempt is in {every:g} s" if every and self._in_background else ""
            self._failures.report(CHECKPOINT_NOT_WRITTEN, f"no checkpoint was saved: {error}{retry}")

    def load(self, trainer: Trainer) -> None:
        """Load the newest valid checkpoint or the chosen one, if a run is to be resumed.

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

        checkpoints, choice = folder.entry(CHECKPOINTS), self._config.checkpoint
        loaded = load_newest(checkpoints, self._record.identity, SAVED, take, choice)
        for sentence in loaded.skipped:
            self._events.add(Level.WARNING, sentence)
        point = ResumePoint.loaded(loaded)
        if self._config.learn:
            self._continue_counts(folder, point)
            self._continue_checkpoints(checkpoints, loaded)
        self._record.resumable = True
        resumed = f"resumed {folder.name} at {self._describe(point.counters)} with N={self._setup.planner.num_envs:,}"
        self._events.add(Level.GOOD, ", ".join((resumed, *changed_settings(folder, self._record.settings))))

    def _continue_counts(self, folder: RunFolder, point: ResumePoint) -> None:
        """Continue counters, time and curves of a run."""
        done = point.counters["iterations"]
        lines = [line for line in folder.sample_metrics(MAX_HISTORY) if line.keys() >= COUNTER_NAMES]
        rows = [line for line in lines if line["iterations"] <= done and DISCARDED not in line]
        self._check_limits(folder, point, rows[-1] if rows else {})
        self._counter.resume(point.counters, point.seconds, rows)
        self._resume_point, self._saved_at = point, point.seconds
        metadata = folder.metadata()
        self._record.first_started = metadata.get("started")
        before, counters = metadata.get("config", {}).get("settings", {}), point.counters
        now = changes_between(before, self._record.settings, counters["steps"], point.seconds, counters["frames"])
        self._record.changes = (*changes_in(metadata), *now)

    def _continue_checkpoints(self, directory: FolderEntry, loaded: Checkpoint) -> None:
        """Continue the number of checkpoints and the comparison with the best one."""
        number = loaded.data.get("number", 0)
        self._number, self._numbered = number if type(number) is int else 0, loaded.step
        if self._config.checkpoint != LAST and (newer := newer_than(directory, loaded.step)):
            self._replaced = tuple(newer)
            text = f"the run continues from an earlier checkpoint: the next one replaces {', '.join(reversed(newer))}"
            self._events.add(Level.WARNING, text)
        found = best_of(directory)
        if found is not None and found[0] not in self._replaced:
            self._best.saved = found[1]

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
