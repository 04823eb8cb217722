"""The solver's workers as environments: a step is a batch of iterations on tables that all workers share."""

from __future__ import annotations

import time
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ...envs import Task, find
from ...envs.fields import DECIDES, Array, Buffers
from ...envs.poker.driver import GAME
from ...envs.poker.game import PokerGame
from ...envs.poker.task import game_of
from ...envs.slots import next_slot
from .pictures.boards import SolverBoards
from .settings import MccfrSettings
from .solving.exact import average_strategy, game_value, nash_conv
from .solving.full import Cfr
from .solving.sampling import IterationStats, SamplingSolver
from .solving.sharing import Assignments
from .task import INFO

SHARE = 0.01
"""Maximum share of a worker's time spent on counting visited rows."""
PIECE = 4096
"""Iterations before the first heartbeat."""
PIECE_SECONDS = 0.5
"""Seconds between two heartbeats, if a batch takes longer."""


class TableSolver(Protocol):
    """An algorithm that improves the tables iteration by iteration."""

    def run(self, first: int, count: int) -> IterationStats:
        """Make `count` iterations, the first of which has the number `first`, and update the tables in place."""

    def reach(self, iteration: int) -> None:
        """Apply to this worker's share of the tables all discounts that are due before an iteration."""


class ExactSolver:
    """Makes exact iterations and copies their results into the tables.

    Args:
        tables: The tables, in float64.
        method: The algorithm.
    """

    def __init__(self, game: PokerGame, tables: SolverTables, method: str) -> None:
        self._game, self._cfr = game, Cfr(game, method)
        self._tables, self._nodes = tables, int(game.tree.decisions.sum())
        self._loaded = False

    def run(self, first: int, count: int) -> IterationStats:
        """Make `count` iterations. The first call continues from the tables, which contain `first` iterations."""
        table, updates = self._tables
        if not self._loaded:
            self._cfr.load(table[:, 0], table[:, 1], first)
            self._loaded = True
        self._cfr.iterate(count)
        table[:, 0], table[:, 1] = self._cfr.regrets, self._cfr.sums
        updates += np.uint32(count)
        utility = count * game_value(self._game, self._cfr.average())
        return IterationStats(utility, 2 * count * self._nodes, count * len(updates))

    def reach(self, iteration: int) -> None:
        """Do nothing: exact iterations discount by themselves."""


class SolverTables(NamedTuple):
    """The learned tables: `(entries, 2)` regrets and sums of the average strategy, and `(rows,)` counts of updates."""

    table: Array
    updates: NDArray[np.uint32]

    @classmethod
    def private(cls, game: PokerGame, settings: MccfrSettings) -> SolverTables:
        """Return tables in private memory. The system allocates only the pages that are used."""
        kind = np.float32 if settings.sampled else np.float64
        return cls(np.zeros((game.entries, 2), kind), np.zeros(game.rows, np.uint32))


class Partition(NamedTuple):
    """The ranges of rows and of entries that one worker counts and discounts, as `[first, end)`."""

    rows: tuple[int, int]
    entries: tuple[int, int]

    @classmethod
    def of(cls, game: PokerGame, worker: int, workers: int) -> Partition:
        def part(count: int) -> tuple[int, int]:
            return count * worker // workers, count * (worker + 1) // workers

        return cls(part(game.rows), part(game.entries))


class SolverWorker:
    """One worker, which is one row of the buffers.

    Args:
        solver: Makes its iterations.
        rows: The first row of its partition, and one after the last.
        updates: `(rows,)` updates of all rows.
        beats: `(1,)` uint64, its heartbeat.

    Attributes:
        solver: Makes its iterations.
        rows: Its partition.
        made: Statistics of the iterations that it made in this step.
        count: Number of these iterations.
        seconds: Time that they took.
    """

    def __init__(
        self, solver: TableSolver, rows: tuple[int, int], updates: NDArray[np.uint32], beats: NDArray[np.uint64]
    ) -> None:
        self.solver = solver
        self.rows, self._mine, self._beats = rows, updates[slice(*rows)], beats
        self._piece = PIECE
        self._visited, self._due = 0, 0.0
        self.begin()

    def begin(self) -> None:
        """Reset the statistics for a new step."""
        self.made, self.count, self.seconds = IterationStats(0.0, 0, 0), 0, 0.0

    def work(self, assignments: Assignments, of: int) -> None:
        """Make the iterations that nobody has claimed of worker `of`, which may be this one or another."""
        while True:
            first, count = assignments.claim(of, self._piece)
            if not count:
                return
            self._make(first, count)

    def _make(self, first: int, count: int) -> None:
        """Make some iterations, increment the heartbeat, and adapt the number of iterations until the next one."""
        begun = time.perf_counter()
        made = self.solver.run(first, count)
        self._beats += np.uint64(1)
        seconds = time.perf_counter() - begun
        if seconds > PIECE_SECONDS or count == self._piece:
            self._piece = max(1, 2 * count if seconds < PIECE_SECONDS / 2 else int(count * PIECE_SECONDS / seconds))
        self.made = self.made.and_then(made)
        self.count, self.seconds = self.count + count, self.seconds + seconds

    def info(self) -> list[float]:
        """Return the values of the fields `INFO`."""
        self._count()
        seconds = max(self.seconds, 1e-9)
        rates = [number / seconds for number in (self.count, self.made.nodes, self.made.updates)]
        first, end = self.rows
        return [*rates, self.seconds, self._visited, first, end - first]

    def _count(self) -> None:
        """Count the visited rows of the partition, unless that was done recently."""
        begun = time.perf_counter()
        if begun >= self._due:
            self._visited = int(np.count_nonzero(self._mine))
            now = time.perf_counter()
            self._due = now + (now - begun) / SHARE


class SolverEnvironments:
    """The workers `lo..hi` of a solver, as `Environments`."""

    def __init__(self, task: Task, lo: int, hi: int, buffers: Buffers, seed: int) -> None:
        game = game_of(task)
        settings = MccfrSettings.read("mccfr", task.settings["mccfr"])
        tables, workers = SolverTables(buffers["table"][0, 0], buffers["updates"][0, 0]), buffers["first"].shape[1]
        self._span, self._all, self._shared = range(lo, hi), range(workers), hi - lo < workers
        self._assigned: dict[str, Array] = {name: buffers[name] for name in ("action", "first", "taken")}
        lock = buffers["lock"][0, 0] if self._shared else None
        own = [item.name for item in task.fields if item.per != "all"]
        self._part: dict[str, Array] = {name: buffers[name][:, lo:hi] for name in own}
        self._slots = len(self._part["action"])
        self._workers = []
        for worker in range(lo, hi):
            part = Partition.of(game, worker, workers)
            solver = _solver(game, tables, seed, settings, share=part.entries, lock=lock)
            beats = buffers["heartbeat"][0, worker : worker + 1]
            self._workers.append(SolverWorker(solver, part.rows, tables.updates, beats))
        self._boards = SolverBoards(task, lo, hi, buffers, seed)
        warm_up(game, settings)

    def reset(self, mask: NDArray[np.bool_], slot: int) -> None:
        """Start; the tables stay as they are."""
        part = self._part
        for name in ("reward", "terminated", "truncated", "outcome", "frames", "episode_return", "episode_length"):
            part[name][slot, mask] = 0
        part["active"][slot, mask] = DECIDES
        part["episode"][0, mask] += 1
        self._boards.draw()

    def step(self, slot: int) -> None:
        """Make every worker's batch: `action` iterations from number `first` on. Then help the others."""
        part, target = self._part, next_slot(slot, self._slots)
        part["active"][target], part["terminated"][target], part["truncated"][target] = DECIDES, 1, 0
        part["outcome"][target], part["episode_length"][target] = 0, 1
        action, first, taken = (self._assigned[name] for name in ("action", "first", "taken"))
        assignments = Assignments(first[0], action[slot, :, 0], taken[0], self._shared)
        for worker, own in zip(self._workers, self._span, strict=True):
            worker.begin()
            worker.solver.reach(assignments.begin)
            worker.work(assignments, own)
        for worker in self._workers:
            for other in self._all:
                worker.work(assignments, other)
            # All shares are discounted at the end of the step, since a resumed run does not know which shares were.
            worker.solver.reach(assignments.end - 1)
        for index, worker in enumerate(self._workers):
            part["frames"][target, index] = worker.count
            utility = worker.made.utility_sum / max(1, worker.count)
            part["reward"][target, index] = part["episode_return"][target, index] = utility
            for item, value in zip(INFO, worker.info(), strict=True):
                part[item.name][target, index] = value
            part["episode"][0, index] += 1
        self._boards.draw()

    def close(self) -> None:
        """Release the buffers."""
        self._part.clear()
        self._assigned.clear()
        self._workers.clear()
        del self._boards


def _solver(
    game: PokerGame,
    tables: SolverTables,
    seed: int,
    settings: MccfrSettings,
    *,
    share: tuple[int, int] | None = None,
    lock: NDArray[np.int32] | None = None,
) -> TableSolver:
    if not settings.sampled:
        return ExactSolver(game, tables, settings.method)
    return SamplingSolver(
        game,
        *tables,
        seed,
        method=settings.method,
        weighting=settings.weighting,
        interval=settings.discount_interval,
        share=share,
        lock=lock,
    )


def warm_up(game: PokerGame, settings: MccfrSettings) -> None:
    """Compile the kernels, or load them from disk, by an iteration on private tables."""
    _solver(game, SolverTables.private(game, settings), 0, settings, lock=np.zeros(1, np.int32)).run(0, 1)
    nothing = np.zeros(1, np.int64)
    Assignments(nothing, np.zeros(1, np.float32), nothing, shared=True).claim(0, 1)


def compile_external() -> None:
    _compile(MccfrSettings(method="external"))


def compile_outcome() -> None:
    _compile(MccfrSettings(method="outcome"))


def compile_exact() -> None:
    _compile(MccfrSettings(method="cfr"))


def _compile(settings: MccfrSettings) -> None:
    """Compile the kernels of a method, of NashConv, and of the hands that are displayed, on the smallest game."""
    game = game_of(find("kuhn"))
    warm_up(game, settings)
    nash_conv(game, average_strategy(game, SolverTables.private(game, settings).table))
    GAME.compile_all()
