"""Working memory of a round; its content is not used after a step."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .arena import ARENA_WORDS, RESULT_WORDS, SIDE_SIZE, TEAM_WORDS
from .layout import FILM_WORDS, SEATS, TERMS, Floats, Ints


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
