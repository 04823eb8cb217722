"""The arrays of the buffers as the kernels see them, rebuilt from a table of addresses."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import carray  # type: ignore[attr-defined]
from numpy.typing import NDArray

from ..native import pointer
from ..task import Array, Buffers
from .arena import ARENA_WORDS, RESULT_WORDS, SIDE_SIZE, TEAM_WORDS
from .compiled import compiled
from .kinds import KINDS
from .layout import CELLS, FIGHT_COLUMNS, FIGHT_ROWS, MASK_WORDS, OBSERVATION, SEATS, SHOP_SLOTS, TERMS, WORDS
from .work import Work

INFO = ("life", "rank", "stage", "level", "gold", "board_size", "kinds_active", "items_held", "actions_taken")
BOARDS = ("creatures", "stars", "shop", "fight", "kinds", "lives", "purse")
PURSE = ("stage", "gold", "level", "xp to go", "streak", "rank")
NAMES = (
    "action",
    "action_mask",
    "observation",
    "final_observation",
    "reward",
    "reward_terms",
    "terminated",
    "truncated",
    "active",
    "episode_return",
    "episode_length",
    "frames",
    "outcome",
    "episode",
    "heartbeat",
    "state",
    *INFO,
    *BOARDS,
)
"""The fields whose addresses stand in a table, after its numbers: slots, environments, players, preset, bots."""
NUMBERS = 5
AT_INFO = NUMBERS + NAMES.index(INFO[0])
AT_BOARDS = NUMBERS + NAMES.index(BOARDS[0])
AT_WORK = NUMBERS + len(NAMES)


class Views(NamedTuple):
    """What kernels read and write, `(slots, rows, ...)`; what has no slot has no first axis."""

    players: int
    preset: int
    bots: int
    action: Array
    mask: Array
    observation: Array
    final: Array
    reward: Array
    terms: Array
    terminated: Array
    truncated: Array
    active: Array
    returns: Array
    length: Array
    frames: Array
    outcome: Array
    episode: Array
    heartbeat: Array
    state: Array
    reals: Array


class Extras(NamedTuple):
    """What is written for people: the scalars of `INFO`, `(slots, environments)`, and boards, `(environments, ...)`."""

    life: Array
    rank: Array
    stage: Array
    level: Array
    gold: Array
    board_size: Array
    kinds_active: Array
    items_held: Array
    actions_taken: Array
    creatures: Array
    stars: Array
    shop: Array
    fight: Array
    kinds: Array
    lives: Array
    purse: Array


def table(buffers: Buffers, players: int, preset: int, bots: int, work: Work) -> NDArray[np.int64]:
    """The table of `buffers` and `work`, which must outlive it.

    Raises:
        ValueError: A field is not one contiguous block.
    """
    slots, num_envs = buffers["episode_length"].shape
    for name in NAMES:
        if not buffers[name].flags.c_contiguous:
            raise ValueError(
                f"the field {name} must be one contiguous block, got strides {buffers[name].strides}: pass it whole"
            )
    addresses = [array.ctypes.data for array in (*(buffers[name] for name in NAMES), *work)]
    return np.array([slots, num_envs, players, preset, bots, *addresses], np.int64)


@compiled
def views(at: NDArray[np.int64]) -> Views:
    """Rebuild the arrays of the seats and games from a table."""
    slots, envs, players = at[0], at[1], at[2]
    rows, lines = (slots, envs * players), (slots, envs)
    return Views(
        players=players,
        preset=at[3],
        bots=at[4],
        action=carray(pointer(at[NUMBERS], np.int64), rows),
        mask=carray(pointer(at[NUMBERS + 1], np.uint32), (slots, envs * players, MASK_WORDS)),
        observation=carray(pointer(at[NUMBERS + 2], np.float32), (slots, envs * players, OBSERVATION)),
        final=carray(pointer(at[NUMBERS + 3], np.float32), (slots, envs * players, OBSERVATION)),
        reward=carray(pointer(at[NUMBERS + 4], np.float32), rows),
        terms=carray(pointer(at[NUMBERS + 5], np.float32), (slots, envs * players, TERMS)),
        terminated=carray(pointer(at[NUMBERS + 6], np.uint8), rows),
        truncated=carray(pointer(at[NUMBERS + 7], np.uint8), rows),
        active=carray(pointer(at[NUMBERS + 8], np.uint8), rows),
        returns=carray(pointer(at[NUMBERS + 9], np.float32), rows),
        length=carray(pointer(at[NUMBERS + 10], np.int32), lines),
        frames=carray(pointer(at[NUMBERS + 11], np.int32), lines),
        outcome=carray(pointer(at[NUMBERS + 12], np.uint8), lines),
        episode=carray(pointer(at[NUMBERS + 13], np.int64), (envs,)),
        heartbeat=carray(pointer(at[NUMBERS + 14], np.uint64), (envs,)),
        state=carray(pointer(at[NUMBERS + 15], np.int64), (envs, WORDS)),
        reals=carray(pointer(at[NUMBERS + 15], np.float32), (envs, 2 * WORDS)),
    )


@compiled
def extras(at: NDArray[np.int64]) -> Extras:
    """Rebuild the arrays for people from a table."""
    envs = at[1]
    lines = (at[0], envs)
    return Extras(
        life=carray(pointer(at[AT_INFO], np.int32), lines),
        rank=carray(pointer(at[AT_INFO + 1], np.int32), lines),
        stage=carray(pointer(at[AT_INFO + 2], np.int32), lines),
        level=carray(pointer(at[AT_INFO + 3], np.int32), lines),
        gold=carray(pointer(at[AT_INFO + 4], np.int32), lines),
        board_size=carray(pointer(at[AT_INFO + 5], np.int32), lines),
        kinds_active=carray(pointer(at[AT_INFO + 6], np.int32), lines),
        items_held=carray(pointer(at[AT_INFO + 7], np.int32), lines),
        actions_taken=carray(pointer(at[AT_INFO + 8], np.int32), lines),
        creatures=carray(pointer(at[AT_BOARDS], np.uint8), (envs, CELLS)),
        stars=carray(pointer(at[AT_BOARDS + 1], np.uint8), (envs, CELLS)),
        shop=carray(pointer(at[AT_BOARDS + 2], np.uint8), (envs, SHOP_SLOTS)),
        fight=carray(pointer(at[AT_BOARDS + 3], np.uint8), (envs, FIGHT_ROWS * FIGHT_COLUMNS)),
        kinds=carray(pointer(at[AT_BOARDS + 4], np.float32), (envs, len(KINDS))),
        lives=carray(pointer(at[AT_BOARDS + 5], np.float32), (envs, SEATS)),
        purse=carray(pointer(at[AT_BOARDS + 6], np.float32), (envs, len(PURSE))),
    )


@compiled
def working(at: NDArray[np.int64]) -> Work:
    """Rebuild the working memory from a table."""
    return Work(
        one=carray(pointer(at[AT_WORK], np.int64), (SIDE_SIZE * TEAM_WORDS,)),
        other=carray(pointer(at[AT_WORK + 1], np.int64), (SIDE_SIZE * TEAM_WORDS,)),
        cells=carray(pointer(at[AT_WORK + 2], np.int64), (SIDE_SIZE,)),
        sizes=carray(pointer(at[AT_WORK + 3], np.int64), (2,)),
        arena=carray(pointer(at[AT_WORK + 4], np.int64), (ARENA_WORDS,)),
        result=carray(pointer(at[AT_WORK + 5], np.int64), (RESULT_WORDS,)),
        terms=carray(pointer(at[AT_WORK + 6], np.float32), (SEATS, TERMS)),
    )
