"""The arrays of the buffers as the kernels see them, and their working memory, which is not used after a step.

A team is up to nine rows of `TEAM_WORDS` numbers. Columns and rows of the board count from the team's own left and
back: row 0 is its back row, row 2 faces the enemy.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..fields import Array, Buffers
from ..kernel_tables import CommonViews, FieldArrays, common_views, table_of
from ..task import Task
from .creatures import STATS
from .layout import FILM_WORDS, MOST_FIGHTS, PRESETS, SEATS, TERMS, Floats, Ints

SIDE_SIZE = 9
SLOTS = 2 * SIDE_SIZE
COLUMNS, ROWS = 8, 6

# A team's row: the stats of `kinds`, then these.
SPECIES, X, Y, MAX_PP, ABILITY, ABILITY_POWER, TEAM_WORDS = range(STATS, STATS + 7)

# The arena: one block of `SLOTS` words per field, the row's fields first; times are in ms, PP in thousandths.
NEXT, DUE, HIT_AT, HIT_ON, HIT_FOR, SIDE, FULL_HP, CHARGED_AT, TARGET, RANDOM = (
    field * SLOTS for field in range(TEAM_WORDS, TEAM_WORDS + 10)
)
TAKEN = RANDOM + 1
STANDING = TAKEN + 1
DEALT = STANDING + 2
COUNT = DEALT + 2
ARENA_WORDS = COUNT + 1

# The result of a fight.
WINNER = 0
SURVIVORS = 1
DAMAGE = 3
DURATION = 5
RESULT_WORDS = 6
NO_WINNER = -1

NEVER = 1 << 40
CAP = 45_000
WAKING = 250
STUN_TIME = 1_500


class RoundMemory(NamedTuple):
    """Memory for the two teams of a fight, the fight itself, its result and film, and the reward terms of all seats."""

    one: Ints
    other: Ints
    cells: Ints
    sizes: Ints
    arena: Ints
    result: Ints
    film: Ints
    terms: Floats


class FightMemory(NamedTuple):
    """Memory for the fights of a round of which a GPU's kernels are made, a row each.

    Attributes:
        status: `(2,)`: what the step is, and how many fights are to run.
        seats: `(fights, 2)`, the player and its opponent, as `rounds.run_fight` takes them.
        seeds: `(fights,)`.
    """

    status: Ints
    seats: Ints
    seeds: Ints
    one: Array
    other: Array
    cells: Array
    sizes: Array
    arena: Array
    result: Array
    film: Array


def new_fights() -> FightMemory:
    """Allocate the working memory of a game for the fights of a round."""
    count = MOST_FIGHTS
    work = new_work()._asdict()
    del work["terms"]
    rows = {name: np.zeros((count, *array.shape), np.int64) for name, array in work.items()}
    return FightMemory(np.zeros(2, np.int64), np.zeros((count, 2), np.int64), np.zeros(count, np.int64), **rows)


def new_work() -> RoundMemory:
    return RoundMemory(
        one=np.zeros(SIDE_SIZE * TEAM_WORDS, np.int64),
        other=np.zeros(SIDE_SIZE * TEAM_WORDS, np.int64),
        cells=np.zeros(SIDE_SIZE, np.int64),
        sizes=np.zeros(2, np.int64),
        arena=np.zeros(ARENA_WORDS, np.int64),
        result=np.zeros(RESULT_WORDS, np.int64),
        film=np.zeros(FILM_WORDS, np.int64),
        terms=np.zeros((SEATS, TERMS), np.float32),
    )


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
