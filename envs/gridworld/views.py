"""The arrays of the buffers as the kernels see them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..fields import Array, Buffers
from ..kernel_tables import CommonViews, FieldArrays, common_views, table_of
from ..task import Task
from .layout import COUNTS, KINDS, STAGHUNT, TERMS, TREASURE, Bytes, Floats, Grid, Ints, Words, planes_at


class TurnMemory(NamedTuple):
    """Working memory of a turn; its content is not used after a step.

    Attributes:
        actions: The action of each agent.
        order: Agents in the order in which they move.
        attacked: The cell of the stag that each agent attacks, or `NOTHING`.
        gains: The reward of each agent by term, `(agents, TERMS)`.
        caught: Animals of each kind caught in this turn.
    """

    actions: Ints
    order: Ints
    attacked: Ints
    gains: Floats
    caught: Ints


class GridCounts(NamedTuple):
    """The info fields, by term, `(slots, rows)`."""

    first: Array
    second: Array
    third: Array


class GridBoards(NamedTuple):
    """What is drawn, `(environments, ...)`."""

    grid: Array
    scores: Array


class GridViews(NamedTuple):
    """What kernels read and write, `(slots, rows, ...)`; what has no slot has no first axis.

    `border` is the plane of the cells outside of the grid, `rewards` the reward of each term. `bot_return` has no
    columns without bots.
    """

    grid: Grid
    common: CommonViews
    observation: Array
    final: Array
    counts: GridCounts
    bot_return: Array
    boards: GridBoards
    last: GridBoards
    last_drawn: Array
    ints: Array
    words: Array
    reals: Array
    border: Words
    rewards: Floats
    memory: TurnMemory


def grid_of(task: Task) -> Grid:
    values = task.values
    agents, size, view, cells = values["agents"], values["size"], values["view"], values["size"] ** 2
    hunting = task.name == STAGHUNT
    return Grid(
        hunting=int(hunting),
        agents=agents,
        players=task.players,
        size=size,
        sight=view,
        lines=size + 2 * view,
        planes=planes_at(agents),
        turns=values["turns"],
        kinds=len(KINDS[task.name]),
        first=values["stags"] if hunting else round(values["resources"] * cells),
        second=values["hares"] if hunting else 0,
        growth=0 if hunting else round(values["regrowth"] * cells * (1 << 32)),
        hunters=values["hunters"] if hunting else 0,
        prey=KINDS[STAGHUNT].index(values["prey"]) if hunting else 0,
    )


def rewards_of(task: Task) -> Floats:
    values = task.values
    found = (10, 5, -10) if task.name == TREASURE else (values["stag"], values["hare"], -values["risk"])
    return np.array(found, np.float32)


def border_of(size: int, view: int) -> Words:
    """Return the plane of the cells outside of the grid."""
    lines = size + 2 * view
    everything, inside = (1 << lines) - 1, (1 << size) - 1 << view
    rows = [everything if not view <= line < view + size else everything & ~inside for line in range(lines)]
    return np.array(rows, np.uint64)


def views_of(task: Task, buffers: Buffers) -> GridViews:
    """Return the views of a task's `buffers`, with working memory of their own.

    Raises:
        ValueError: A field is not what the kernels expect, or not one contiguous block.
    """
    fields = FieldArrays(task, buffers)
    grid = grid_of(task)
    return GridViews(
        grid=grid,
        common=common_views(fields),
        observation=fields["observation"],
        final=fields.last_observations(),
        counts=GridCounts(*(fields[name] for name in COUNTS[task.name])),
        bot_return=fields.optional("bot_return", np.float32),
        boards=GridBoards(fields.flat("grid"), fields["scores"]),
        last=GridBoards(fields.flat("final_grid"), fields["final_scores"]),
        last_drawn=fields["final_drawn"],
        ints=fields["state"],
        words=fields.flat("state", np.uint64),
        reals=fields.flat("state", np.float32),
        border=border_of(grid.size, grid.sight),
        rewards=rewards_of(task),
        memory=TurnMemory(
            actions=np.zeros(grid.agents, np.int64),
            order=np.zeros(grid.agents, np.int64),
            attacked=np.zeros(grid.agents, np.int64),
            gains=np.zeros((grid.agents, TERMS), np.float32),
            caught=np.zeros(grid.kinds, np.int64),
        ),
    )


TABLE = table_of(views_of, TREASURE, working=("memory",))
views = TABLE.unpack


class Scene(NamedTuple):
    """One environment in a kernel: its numbers, its state as signed and unsigned words and as floats, its board."""

    g: Grid
    game: Ints
    words: Words
    reals: Floats
    cells: Bytes
    border: Words
    rewards: Floats
    memory: TurnMemory
