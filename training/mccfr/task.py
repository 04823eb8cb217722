"""The task that a session steps for the solver: its environments are workers, which deal their own hands.

A row is a worker and a step is a batch of iterations. So N, fps, pause and supervision work for a solver as for
environments. The learned tables are in shared memory, where all workers write and the trainer reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...backends import usable_cores
from ...envs import Field, Task
from ...envs.poker.game import PokerGame
from ...envs.poker.task import game_of
from .pictures.boards import shown
from .settings import MccfrSettings

LARGEST = 1 << 24
"""The most iterations of a batch: larger numbers are not exact in an action, which is float32."""
FEW = 64
"""Number of information sets below which several workers are slower than one."""
INFO = (
    Field("batch_it_per_second", "float32", low=0),
    Field("nodes_per_second", "float32", low=0),
    Field("updates_per_second", "float32", low=0),
    Field("seconds", "float32", low=0),
    Field("visited", "float32", low=0),
    Field("first_row", "float32", low=0),
    Field("rows", "float32", low=0),
)
"""About the last batch. `visited` is how many of the `rows` of the worker's partition were ever visited.

A partition is a range of rows that the worker counts and discounts. It updates rows of all partitions.
"""


def most_workers(game: PokerGame, settings: MccfrSettings) -> tuple[int, str]:
    """Return how many workers can share the tables of a game and the reason; 0 if there is no limit."""
    if not settings.sampled:
        return 1, f"{settings.method} traverses the whole tree, which only one worker can do"
    if game.rows < FEW:
        return 1, f"{game.name} has {game.rows} information sets, too few for workers to share"
    return 0, ""


def traversals(task: Task, given: Mapping[str, Any]) -> Task:
    """Return the task whose environments are the workers of a solver of `task`.

    Args:
        task: A game.
        given: Settings of the solver.

    Raises:
        BadParameter: The task is not a game that can be solved.
    """
    game, settings = game_of(task), MccfrSettings.read("mccfr", given)
    panels, boards = shown(task)
    kind = "float32" if settings.sampled else "float64"
    table = Field("table", kind, (game.entries, 2), per="all", timed=False)
    updates = Field("updates", "uint32", (game.rows,), per="all", timed=False)
    lock = Field("lock", "int32", (1,), per="all", timed=False)
    first, taken = Field("first", "int64", timed=False), Field("taken", "int64", timed=False)
    return replace(
        task,
        factory=f"{__package__}.driver:SolverEnvironments",
        kernels=f"{__package__}.driver:compile_{settings.method if settings.sampled else 'exact'}",
        observation=Field("observation", "float32", (1,), per="seat"),
        num_actions=1,
        bounds=((0, LARGEST),),
        masked=False,
        players=1,
        native=True,
        outcomes=(),
        info=INFO,
        headline=("batch_it_per_second",),
        panels=panels,
        boards=boards,
        state=None,
        slices={},
        action_names=(),
        reward_terms=(),
        settings={**task.settings, "mccfr": settings.model_dump()},
        num_envs=most_workers(game, settings)[0] or usable_cores(),
        shared=(table, updates, lock, first, taken),
    )
