"""The arrays of the buffers as the kernels see them, rebuilt from a table of addresses."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import carray  # type: ignore[attr-defined]
from numpy.typing import NDArray

from ..fields import Array, Buffers
from ..native import STANDARD, Common, addresses, common, pointer
from ..task import Task
from .arena import ARENA_WORDS, RESULT_WORDS, SIDE_SIZE, TEAM_WORDS
from .compiled import compiled
from .kinds import KINDS
from .layout import (
    CELLS,
    FIGHT_COLUMNS,
    FIGHT_ROWS,
    FILM_WORDS,
    MASK_WORDS,
    OBSERVATION,
    PICTURES,
    PRESETS,
    SEATS,
    SHOP_SLOTS,
    TERMS,
    WORDS,
)
from .work import RoundMemory

INFO = (
    "life",
    "rank",
    "stage",
    "level",
    "gold",
    "streak",
    "xp_to_go",
    "board_size",
    "kinds_active",
    "items_held",
    "actions_taken",
)
BOARDS = ("creatures", "stars", "gear", "shop", "fight", "fight_life", "fight_power", "kinds", "seats")
LAST_BOARDS = (*(f"final_{name}" for name in BOARDS), "final_drawn")
NAMES = (*STANDARD, *INFO, *BOARDS, *LAST_BOARDS)
"""The fields whose addresses are in a table, after its numbers: slots, environments, players, preset, bots."""
NUMBERS = 5
FILM_CELLS = PICTURES * FIGHT_ROWS * FIGHT_COLUMNS
STANDING = 2
AT_INFO = NUMBERS + NAMES.index(INFO[0])
AT_BOARDS = NUMBERS + NAMES.index(BOARDS[0])
AT_LAST = NUMBERS + NAMES.index(LAST_BOARDS[0])
AT_WORK = NUMBERS + len(NAMES)


class AutochessViews(NamedTuple):
    """What kernels read and write, `(slots, rows, ...)`; what has no slot has no first axis."""

    players: int
    preset: int
    bots: int
    common: Common
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
    """What is written for people: the scalars of `INFO`, `(slots, rows)`, the boards, and those of the last end."""

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


def table(task: Task, buffers: Buffers, work: RoundMemory) -> NDArray[np.int64]:
    """The table of a task's `buffers` and of `work`, which must outlive it.

    Raises:
        ValueError: A field is not what the task describes, or not one contiguous block.
    """
    slots, num_envs = buffers["episode_length"].shape
    numbers = (slots, num_envs, task.players, PRESETS.index(task.values["reward"]), int(task.values["bots"]))
    return np.array([*numbers, *addresses(task, buffers, NAMES), *(array.ctypes.data for array in work)], np.int64)


@compiled
def views(at: NDArray[np.int64]) -> AutochessViews:
    """Rebuild the arrays of the seats and games from a table."""
    slots, envs, players = at[0], at[1], at[2]
    return AutochessViews(
        players=players,
        preset=at[3],
        bots=at[4],
        common=common(at, NUMBERS, players, TERMS),
        mask=carray(pointer(at[NUMBERS + 1], np.uint32), (slots, envs * players, MASK_WORDS)),
        observation=carray(pointer(at[NUMBERS + 2], np.float32), (slots, envs * players, OBSERVATION)),
        final=carray(pointer(at[NUMBERS + 3], np.float32), (slots, envs * players, OBSERVATION)),
        state=carray(pointer(at[NUMBERS + 15], np.int64), (envs, WORDS)),
        reals=carray(pointer(at[NUMBERS + 15], np.float32), (envs, 2 * WORDS)),
    )


@compiled
def boards_at(at: NDArray[np.int64], first: int) -> AutochessBoards:
    """Rebuild the arrays of boards whose addresses are in a table, from `first` on."""
    envs = at[1]
    return AutochessBoards(
        creatures=carray(pointer(at[first], np.uint8), (envs, CELLS)),
        stars=carray(pointer(at[first + 1], np.uint8), (envs, CELLS)),
        gear=carray(pointer(at[first + 2], np.uint8), (envs, CELLS)),
        shop=carray(pointer(at[first + 3], np.uint8), (envs, SHOP_SLOTS)),
        fight=carray(pointer(at[first + 4], np.uint8), (envs, FILM_CELLS)),
        fight_life=carray(pointer(at[first + 5], np.uint8), (envs, FILM_CELLS)),
        fight_power=carray(pointer(at[first + 6], np.uint8), (envs, FILM_CELLS)),
        kinds=carray(pointer(at[first + 7], np.float32), (envs, len(KINDS))),
        seats=carray(pointer(at[first + 8], np.float32), (envs, SEATS, STANDING)),
    )


@compiled
def extras(at: NDArray[np.int64]) -> DisplayViews:
    """Rebuild the arrays for people from a table."""
    envs = at[1]
    rows = (at[0], envs * at[2])
    return DisplayViews(
        life=carray(pointer(at[AT_INFO], np.int32), rows),
        rank=carray(pointer(at[AT_INFO + 1], np.int32), rows),
        stage=carray(pointer(at[AT_INFO + 2], np.int32), rows),
        level=carray(pointer(at[AT_INFO + 3], np.int32), rows),
        gold=carray(pointer(at[AT_INFO + 4], np.int32), rows),
        streak=carray(pointer(at[AT_INFO + 5], np.int32), rows),
        xp_to_go=carray(pointer(at[AT_INFO + 6], np.int32), rows),
        board_size=carray(pointer(at[AT_INFO + 7], np.int32), rows),
        kinds_active=carray(pointer(at[AT_INFO + 8], np.int32), rows),
        items_held=carray(pointer(at[AT_INFO + 9], np.int32), rows),
        actions_taken=carray(pointer(at[AT_INFO + 10], np.int32), rows),
        boards=boards_at(at, AT_BOARDS),
        last=boards_at(at, AT_LAST),
        last_drawn=carray(pointer(at[AT_LAST + len(BOARDS)], np.int64), (envs,)),
    )


@compiled
def working(at: NDArray[np.int64]) -> RoundMemory:
    """Rebuild the working memory from a table."""
    return RoundMemory(
        one=carray(pointer(at[AT_WORK], np.int64), (SIDE_SIZE * TEAM_WORDS,)),
        other=carray(pointer(at[AT_WORK + 1], np.int64), (SIDE_SIZE * TEAM_WORDS,)),
        cells=carray(pointer(at[AT_WORK + 2], np.int64), (SIDE_SIZE,)),
        sizes=carray(pointer(at[AT_WORK + 3], np.int64), (2,)),
        arena=carray(pointer(at[AT_WORK + 4], np.int64), (ARENA_WORDS,)),
        result=carray(pointer(at[AT_WORK + 5], np.int64), (RESULT_WORDS,)),
        film=carray(pointer(at[AT_WORK + 6], np.int64), (FILM_WORDS,)),
        terms=carray(pointer(at[AT_WORK + 7], np.float32), (SEATS, TERMS)),
    )
