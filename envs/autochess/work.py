"""Working memory of a round; its content is not used after a step."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..fields import Array
from .arena import ARENA_WORDS, RESULT_WORDS, SIDE_SIZE, TEAM_WORDS
from .layout import FILM_WORDS, MOST_FIGHTS, SEATS, TERMS, Floats, Ints


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
    """Allocate the working memory of a thread."""
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
