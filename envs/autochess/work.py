"""The memory of a fight, and of the teams that enter it; and working memory of a round, not used after a step.

A team is up to nine rows of `TEAM_WORDS` numbers. Columns and rows of the board count from the team's own left and
back: row 0 is its back row, row 2 faces the enemy.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..fields import Array
from .creatures import STATS
from .layout import FILM_WORDS, MOST_FIGHTS, SEATS, TERMS, Floats, Ints

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
