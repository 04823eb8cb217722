"""Wires workers and tables into a trainer."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...backends import TooManyEnvironments
from ...backends.core.memory import check_memory
from ...backends.system.segment import human_bytes
from ...envs.fields import Array
from ...envs.poker.task import game_of
from ..runs.streamed_array import StreamedArray
from ..trainer import Context, Envs, Interrupted, Metrics, Stopped, Trainer
from .fingerprints import check_fingerprints, fingerprints_of, table_of
from .regret import average_regret, iterations_weight
from .settings import MccfrSettings
from .solving.dealing import prepare
from .solving.exact import average_strategy, nash_conv
from .task import LARGEST, most_workers

TABLES = ("table", "updates")
STEPS = 16
"""Batches between two looks, where the size of a batch is found out."""
BATCH_SECONDS = 0.03
"""What a batch takes: long beside a wake-up, short enough for whoever pauses or saves."""
FIRST_BATCH = 64
MOST_EXACT = 1 << 20
"""Entries up to which a best response is computed while the training goes on."""
SHARE = 0.01
"""Of the training's time, the most that looking how good the strategy is takes."""


class MCCFR(Trainer):
    """Counterfactual regret minimisation, sampled by N workers or exact.

    Iterations are numbered, and number k draws from stream k of the seed, whoever makes it. The tables are the
    environments' own; this class only says who makes which iterations next.

    Attributes:
        iterations: Iterations made; those that died with a worker do not count.

    Raises:
        TooManyEnvironments: The tables are larger than the memory.
    """

    def __init__(self, context: Context) -> None:
        self._context, self._settings = context, MccfrSettings.read("mccfr", context.settings)
        self._game = game_of(context.task)
        self.iterations = 0
        self._next = 0
        self._envs: Envs | None = None
        self._kept: dict[str, Array] = {}
        self._exact = self._game.deals is not None and self._game.entries <= MOST_EXACT
        self._looked: Metrics = {}
        self._due = 0.0
        size = sum(item.row_bytes for item in context.task.shared if item.per == "all")
        rows, entries = self._game.rows, self._game.entries
        context.notify(f"table: {human_bytes(size)} for {rows:,} information sets with {entries:,} actions in all")
        self._untold = most_workers(self._game, self._settings)[1]
        check_memory(context.task, 1, 1)  # what is prepared may take minutes
        prepare(self._game, context.notify, context.progress)
        self._marks = fingerprints_of(self._game, self._settings)

    def start(self, num_envs: int) -> None:
        """Let `num_envs` workers begin, on the tables that there were.

        Raises:
            TooManyEnvironments: So many cannot share this game's tables.
        """
        most, reason = most_workers(self._game, self._settings)
        untold, self._untold = self._untold, ""
        if most and num_envs > most:
            raise TooManyEnvironments(reason, most)  # who asked for more tells why it is less
        if untold:
            self._context.notify(f"one worker: {untold}")
        self._envs = self._context.make_envs(num_envs, 1)
        for name, kept in self._kept.items():
            self._table(name)[...] = kept
        self._kept.clear()
        self._counts = np.full(num_envs, self._settings.batch or FIRST_BATCH, np.int64)
        self._look()
        self._due = 0.0  # the first look loaded the kernels
        self._envs.start(0)

    def resize(self, num_envs: int) -> None:
        """Go on with another number of workers; the tables stay."""
        self._keep()
        super().resize(num_envs)

    def iterate(self) -> Metrics:
        """Let the workers make some batches.

        What is learned is learned at once: an iteration that is to be interrupted ends there, and counts.
        """
        assert self._envs is not None
        buffer, utility, made = self._envs.buffer, 0.0, 0
        for done in range(1 if self._settings.batch else STEPS):
            self._order()
            try:
                self._envs.advance(0)
            except (Interrupted, Stopped):
                if not done:
                    raise
                break
            frames = buffer["frames"][0]
            utility += float(buffer["reward"][0] @ frames)
            made += self._take(frames)
            self._context.timer.lap("python")
        metrics = {"information_sets": float(buffer["visited"][0].sum())}
        if made:
            metrics["utility"] = utility / made
        if time.perf_counter() >= self._due:
            self._look()
            self._context.timer.lap("learner")
        return metrics | self._looked

    def _order(self) -> None:
        """Say who makes which iterations; who is done takes over what others have not begun."""
        assert self._envs is not None
        self._envs.buffer["action"][0, :, 0] = self._counts
        self._envs.buffer["first"][0] = self._next + np.cumsum(self._counts) - self._counts
        self._envs.buffer["taken"][0] = 0

    def _take(self, frames: NDArray[np.int32]) -> int:
        """Count what was made, give every worker as many iterations as it makes in time, and return how many were."""
        assert self._envs is not None
        self._next += int(self._counts.sum())
        made = int(frames.sum())
        self.iterations += made
        if not self._settings.batch:
            seconds = self._envs.buffer["seconds"][0]
            wanted = np.where(frames > 0, frames * BATCH_SECONDS / np.maximum(seconds, 1e-6), self._counts)
            self._counts = np.clip(wanted, self._counts // 2, 2 * self._counts).clip(1, LARGEST).astype(np.int64)
        return made

    def _look(self) -> None:
        """See how far the training is; not again before it was worth the time."""
        begun, table = time.perf_counter(), self._table("table")
        if self._exact:
            self._looked = {"nash_conv": nash_conv(self._game, average_strategy(self._game, table))}
        elif self.iterations and self._settings.sampled:
            weight = iterations_weight(self._settings, self.iterations)
            self._looked = {"regret": average_regret(self._game, table, weight)}
        now = time.perf_counter()
        self._due = now + (now - begun) / SHARE

    def _table(self, name: str) -> Array:
        assert self._envs is not None
        found: Array = self._envs.buffer[name][0, 0]
        return found

    def _keep(self) -> None:
        """Copy the tables out of memory that is about to go."""
        if self._envs is not None:
            self._kept = {name: self._table(name).copy() for name in TABLES}

    def state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the tables, to be handed over between two batches, and the counters of when the last row was."""
        data = {**self._counters(), "marks": self._marks}
        if self._envs is None:
            return dict(self._kept), data
        table = StreamedArray(self._table("table"))
        return {
            "table": table,
            "updates": StreamedArray(self._table("updates"), lambda: data.update(self._counters())),
        }, data

    def _counters(self) -> dict[str, int]:
        return {"iterations": self.iterations, "next": self._next}

    def load_state(self, tensors: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        """Continue from what `state` returned, with any number of workers.

        Raises:
            BadParameter: It was learned on another betting tree, with other buckets, or by another kind of method, or
            holds no table of this game.
        """
        check_fingerprints(data.get("marks", {}), self._marks, self._context.task.spec)
        table = table_of(tensors, self._game, self._context.task.spec)
        self._kept = {"table": table, "updates": np.asarray(tensors["updates"])}
        self.iterations, self._next = int(data["iterations"]), int(data["next"])

    def finish(self) -> Metrics:
        """Look how good the strategy is that is kept."""
        if self._envs is None:
            return {}
        self._look()
        return self._looked

    def close(self) -> None:
        """Stop the workers."""
        if self._envs is not None:
            self._envs.close()
            self._envs = None
