"""Boards that are found once, and a card abstraction whose buckets mean nothing."""

from __future__ import annotations

from functools import cache

import numpy as np

from pac.envs.poker.cards.deal import BucketTables
from pac.envs.poker.cards.words import HOLES, boards

DRAWN = 1_000_003

found_boards = cache(boards)


def random_tables(*counts: int) -> BucketTables:
    """Return tables with so many buckets on flop, turn and river, drawn at random; what was drawn comes again."""
    random, found = np.random.default_rng(5), [found_boards(size) for size in (3, 4, 5)]
    drawn = (random.integers(0, count, DRAWN, np.uint8) for count in counts)
    rows = (np.resize(row, (len(item.words), HOLES)) for row, item in zip(drawn, found, strict=True))
    return BucketTables(*(item.table for item in found), *rows)
