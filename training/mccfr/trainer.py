"""The trainer: it assigns iterations to workers and measures the strategy in their tables."""

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
from ...envs.poker.game import PokerGame
from ...envs.poker.task import game_of
from ...envs.poker.tree import DECISION
from ..runs.streamed_array import StreamedArray
from ..trainer import BufferSpec, Context, Envs, Interrupted, Metrics, Stopped, Trainer
from .fingerprints import check_fingerprints, fingerprints_of, table_of
from .settings import MccfrSettings
from .solving.dealing import prepare
from .solving.exact import average_strategy, nash_conv
from .solving.matching import weight_of
from .task import LARGEST, most_workers

TABLES = ("table", "updates")
STEPS = 16
"""Batches per call of `iterate`, if the size of a batch is adapted."""
BATCH_SECONDS = 0.03
"""Time of a batch: long compared with waking a worker up, and short enough for a pause or a checkpoint."""
FIRST_BATCH = 64
MOST_EXACT = 1 << 20
"""The most entries for which NashConv is computed during the training."""
SHARE = 0.01
"""Maximum share of the training's time spent on measuring the strategy."""


class MCCFR(Trainer):
    """Counterfactual regret minimization, sampled by N workers or exact.

    Iterations are numbered, and iteration k draws from stream k of the seed on any worker. The environments own the
    tables. This class assigns the next iterations to workers.

    Attributes:
        iterations: Iterations made, without those that were lost with a worker.

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
        self._measures: Metrics = {}
        self._due = 0.0
        size = sum(item.row_bytes for item in context.task.shared if item.per == "all")
        rows, entries = self._game.rows, self._game.entries
        context.notify(f"table: {human_bytes(size)} for {rows:,} information sets with {entries:,} actions in all")
        self._unreported = most_workers(self._game, self._settings)[1]
        check_memory(context.task, 1, 1)  # what is prepared may take minutes
        prepare(self._game, context.notify, context.progress)
        self._marks = fingerprints_of(self._game, self._settings)

    def buffer(self, num_envs: int) -> BufferSpec:
        """Return the buffer of `num_envs` workers.

        Raises:
            TooManyEnvironments: Fewer workers can share the tables of this game.
        """
        most, reason = most_workers(self._game, self._settings)
        unreported, self._unreported = self._unreported, ""
        if most and num_envs > most:
            raise TooManyEnvironments(reason, most)  # the caller reports the reason
        if unreported:
            self._context.notify(f"one worker: {unreported}")
        return BufferSpec(1)

    def attach(self, envs: Envs) -> None:
        """Continue on the present tables with workers."""
        self._envs = envs
        for name, kept in self._kept.items():
            self._table(name)[...] = kept
        self._kept.clear()
        self._counts = self._assigned = np.full(envs.environments, self._settings.batch or FIRST_BATCH, np.int64)
        self._measure()
        self._due = 0.0  # the first measurement also loaded the kernels

    def detach(self) -> None:
        """Keep a copy of the tables."""
        self._keep()
        self._envs = None

    def iterate(self) -> Metrics:
        """Let the workers make some batches; return the metrics.

        Batches update the tables at once. So an interruption ends this call early and what was done counts.
        """
        assert self._envs is not None
        buffer, utility, made, left = self._envs.buffer, 0.0, 0, self._context.frames_left()
        for done in range(1 if self._settings.batch else STEPS):
            if made >= left:
                break
            self._assign(left - made)
            try:
                self._envs.advance(0)
            except (Interrupted, Stopped):
                if not done:
                    raise
                break
            frames = buffer["frames"][0]
            utility += float(buffer["reward"][0] @ frames)
            made += self._count(frames)
            self._context.timer.lap("python")
        metrics = {"information_sets": float(buffer["visited"][0].sum())}
        if made:
            metrics["utility"] = utility / made
        if time.perf_counter() >= self._due:
            self._measure()
            self._context.timer.lap("learner")
        return metrics | self._measures

    def _assign(self, most: float) -> None:
        assert self._envs is not None
        ends = np.minimum(np.cumsum(self._counts), most).astype(np.int64)
        self._assigned = np.diff(ends, prepend=0)
        self._envs.buffer["action"][0, :, 0] = self._assigned
        self._envs.buffer["first"][0] = self._next + ends - self._assigned
        self._envs.buffer["taken"][0] = 0

    def _count(self, frames: NDArray[np.int32]) -> int:
        """Count the iterations that were made, adapt each worker's next number, and return the count."""
        assert self._envs is not None
        self._next += int(self._assigned.sum())
        made = int(frames.sum())
        self.iterations += made
        if not self._settings.batch:
            seconds = self._envs.buffer["seconds"][0]
            wanted = np.where(frames > 0, frames * BATCH_SECONDS / np.maximum(seconds, 1e-6), self._counts)
            self._counts = np.clip(wanted, self._counts // 2, 2 * self._counts).clip(1, LARGEST).astype(np.int64)
        return made

    def _measure(self) -> None:
        """Measure the strategy, and set when to do so again."""
        begun, table = time.perf_counter(), self._table("table")
        if self._exact:
            self._measures = {"nash_conv": nash_conv(self._game, average_strategy(self._game, table))}
        elif self.iterations and self._settings.sampled:
            weight = iterations_weight(self._settings, self.iterations)
            self._measures = {"regret": average_regret(self._game, table, weight)}
        now = time.perf_counter()
        self._due = now + (now - begun) / SHARE

    def _table(self, name: str) -> Array:
        assert self._envs is not None
        found: Array = self._envs.buffer[name][0, 0]
        return found

    def _keep(self) -> None:
        """Copy the tables, before their memory is released."""
        if self._envs is not None:
            self._kept = {name: self._table(name).copy() for name in TABLES}

    def state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the tables as streams, which are saved in slices between batches, and the counters."""
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
            BadParameter: It has another betting tree, other buckets, another kind of method or no table of this game.
        """
        check_fingerprints(data.get("marks", {}), self._marks, self._context.task.spec)
        table = table_of(tensors, self._game, self._context.task.spec)
        self._kept = {"table": table, "updates": np.asarray(tensors["updates"])}
        self.iterations, self._next = int(data["iterations"]), int(data["next"])

    def finish(self) -> Metrics:
        """Return a measurement of the final strategy."""
        if self._envs is None:
            return {}
        self._measure()
        return self._measures

    def close(self) -> None:
        """Let go of the tables; nothing follows."""
        self._envs = None


MAX_ENTRIES = 1 << 20
"""The most entries that are read. Of a larger table, those of evenly spaced buckets are read."""


def average_regret(game: PokerGame, table: NDArray[np.float32], weight: float) -> float:
    """Return the sum of the largest positive regret of every information set, per iteration, in chips per hand.

    With perfect recall it is an upper bound of NashConv, on average over the samples (Zinkevich et al., 2008).

    Args:
        table: `(entries, 2)` regrets and sums of the average strategy.
        weight: The sum of the weights of all iterations, see `iterations_weight`.
    """
    step, total = -(-game.entries // MAX_ENTRIES), 0.0
    for street, player in np.argwhere(game.tree.width > 0):
        buckets, width = game.buckets[street], int(game.tree.width[street, player])
        first = int(game.entry_base[street, player])
        mine = (game.tree.kind == DECISION) & (game.tree.street == street) & (game.tree.player == player)
        regrets = table[first : first + buckets * width, 0].reshape(buckets, width)[::step]
        largest = np.maximum.reduceat(regrets, game.tree.place[mine], axis=1)
        total += float(largest.clip(min=0).sum(dtype=np.float64)) * buckets / len(regrets)
    return total / weight


def iterations_weight(settings: MccfrSettings, iterations: int) -> float:
    """Return the sum of the weights of so many iterations in the regrets of the table."""
    if settings.weighting == "linear":
        return iterations * (iterations + 1) / 2
    if settings.weighting == "discounted":
        return weight_of(iterations, settings.discount_interval)
    return float(iterations)
