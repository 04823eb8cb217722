"""The arrays of the buffers as the kernels see them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..fields import Array, Buffers
from ..kernel_tables import CommonViews, FieldArrays, common_views, table_of
from ..task import Task
from .layout import PRESETS
from .work import FightMemory, RoundMemory, new_fights, new_work


class SeatViews(NamedTuple):
    """What kernels read and write of games and seats, `(slots, rows, ...)`; what has no slot has no first axis."""

    players: int
    preset: int
    bots: int
    turn_actions: int
    common: CommonViews
    mask: Array
    observation: Array
    final: Array
    state: Array
    reals: Array


class AutochessBoards(NamedTuple):
    """What is drawn of games, `(environments, ...)`."""

    creatures: Array
    stars: Array
    gear: Array
    shop: Array
    fight: Array
    fight_life: Array
    fight_power: Array
    kinds: Array
    seats: Array


class DisplayViews(NamedTuple):
    """What is written for people: scalars, `(slots, rows)`, the boards, and those of the last end."""

    life: Array
    rank: Array
    stage: Array
    level: Array
    gold: Array
    streak: Array
    xp_to_go: Array
    board_size: Array
    kinds_active: Array
    items_held: Array
    actions_taken: Array
    boards: AutochessBoards
    last: AutochessBoards
    last_drawn: Array


class AutochessViews(NamedTuple):
    """All that kernels work on."""

    seats: SeatViews
    display: DisplayViews
    memory: RoundMemory
    fights: FightMemory


def views_of(task: Task, buffers: Buffers) -> AutochessViews:
    """Return the views of a task's `buffers`, with working memory of their own.

    Raises:
        ValueError: A field is not what the kernels expect, or not one contiguous block.
    """
    fields = FieldArrays(task, buffers)
    seats = fields.views(
        SeatViews,
        players=task.players,
        preset=PRESETS.index(task.values["reward"]),
        bots=task.values["bots"],
        turn_actions=task.values["turn_actions"],
        common=common_views(fields),
        mask=fields.flat("action_mask", np.uint32),
        final=fields.last_observations(),
        reals=fields.flat("state", np.float32),
    )
    boards, last = _boards(fields, ""), _boards(fields, "final_")
    display = fields.views(DisplayViews, boards=boards, last=last, last_drawn=fields["final_drawn"])
    return AutochessViews(seats, display, new_work(), new_fights())


def _boards(fields: FieldArrays, prefix: str) -> AutochessBoards:
    cells = {
        name: fields.flat(prefix + name)
        for name in ("creatures", "stars", "gear", "shop", "fight", "fight_life", "fight_power")
    }
    return AutochessBoards(**cells, kinds=fields[f"{prefix}kinds"], seats=fields[f"{prefix}seats"])


TABLE = table_of(views_of, "autochess", working=("memory", "fights"))
views = TABLE.unpack
