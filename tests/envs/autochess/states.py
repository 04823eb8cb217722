"""What must hold of every state, for many games at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pac.envs.autochess.layout import (
    ALIVE,
    BAG,
    BENCH,
    CELLS,
    END_TURN,
    ENDED,
    GEAR,
    GOLD,
    HELD,
    LEVEL,
    LIFE,
    LIVING,
    MASK,
    OFFER_UNIT,
    OFFERS,
    PLAYER_WORDS,
    PLAYERS,
    POOL,
    POOL_LINES,
    RANK,
    SEATS,
    SHOP,
    SHOP_SLOTS,
    UNIT,
    XP,
)
from pac.envs.autochess.tables import COPIES, LINE_RARITY, SPECIES, XP_NEEDED

Ints = NDArray[np.int64]


def copies(states: Ints) -> Ints:
    """Copies of every line wherever they are: pool, shops, offers, cells, `(games, POOL_LINES)`."""
    seats = states[:, PLAYERS:].reshape(len(states), SEATS, PLAYER_WORDS)
    places = [seats[:, :, SHOP : SHOP + SHOP_SLOTS], seats[:, :, OFFER_UNIT : OFFER_UNIT + OFFERS], units(seats)]
    species = np.concatenate([part.reshape(len(states), -1) for part in places], axis=1)
    line, weight = (species - 1) // 3, np.where(species > 0, 3 ** ((species - 1) % 3), 0)
    pooled = (species > 0) & (line < POOL_LINES)
    counted = np.zeros((len(states), POOL_LINES), np.int64)
    np.add.at(counted, (np.nonzero(pooled)[0], line[pooled]), weight[pooled])
    total: Ints = counted + states[:, POOL : POOL + POOL_LINES]
    return total


def units(seats: Ints) -> Ints:
    """The cells of every seat."""
    return seats[:, :, UNIT : UNIT + CELLS]


def violations(states: Ints) -> list[str]:
    """Names of the rules that some of the states break."""
    seats = states[:, PLAYERS:].reshape(len(states), SEATS, PLAYER_WORDS)
    alive = seats[:, :, ALIVE] == 1
    cells, gear = units(seats), seats[:, :, GEAR : GEAR + CELLS]
    level, held = seats[:, :, LEVEL], seats[:, :, HELD : HELD + BAG]
    ended = seats[seats[:, :, ENDED] == 1]
    rules = {
        "copies are conserved": (copies(states) == COPIES[LINE_RARITY[:POOL_LINES]]).all(),
        "the pool is not overdrawn": (states[:, POOL : POOL + POOL_LINES] >= 0).all(),
        "gold is not negative": (seats[:, :, GOLD] >= 0).all(),
        "life lies within 0 and 100": ((seats[:, :, LIFE] >= 0) & (seats[:, :, LIFE] <= 100)).all(),
        "who has no life is dead": (alive == (seats[:, :, LIFE] > 0)).all(),
        "the living are counted": (alive.sum(axis=1) == states[:, LIVING]).all(),
        "ranks are a permutation": (np.sort(seats[:, :, RANK], axis=1) == np.arange(1, SEATS + 1)).all(),
        "the living rank before the dead": (
            np.where(alive, seats[:, :, RANK], 0).max(axis=1) == states[:, LIVING]
        ).all(),
        "levels lie within 2 and 9": ((level >= 2) & (level <= 9)).all(),
        "experience is less than the next level needs": ((seats[:, :, XP] < XP_NEEDED[level]) | (level == 9)).all(),
        "teams have no more than their level": ((cells[:, :, BENCH:] > 0).sum(axis=2) <= level).all(),
        "creatures are known": ((cells >= 0) & (cells <= SPECIES)).all(),
        "only creatures carry items": (cells[gear > 0] > 0).all(),
        "the bag has no gaps": ((held[:, :, 1:] == 0) | (held[:, :, :-1] > 0)).all(),
        "the dead own nothing": not cells[~alive].any() and not seats[~alive][:, SHOP : SHOP + SHOP_SLOTS].any(),
        "who has ended the turn may only end it": (ended[:, MASK : MASK + 3] == [1 << END_TURN, 0, 0]).all(),
    }
    return [name for name, holds in rules.items() if not holds]
