"""What must hold of every state, for many games at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pac.envs.autochess import layout as at
from pac.envs.autochess.tables import COPIES, LINE_RARITY, SPECIES, XP_NEEDED

Ints = NDArray[np.int64]


def copies(states: Ints) -> Ints:
    """Copies of every line wherever they are: pool, shops, offers, cells, `(games, POOL_LINES)`."""
    seats = states[:, at.PLAYERS :].reshape(len(states), at.SEATS, at.PLAYER_WORDS)
    places = [
        seats[:, :, at.SHOP : at.SHOP + at.SHOP_SLOTS],
        seats[:, :, at.OFFER_UNIT : at.OFFER_UNIT + at.OFFERS],
        units(seats),
    ]
    species = np.concatenate([part.reshape(len(states), -1) for part in places], axis=1)
    line, weight = (species - 1) // 3, np.where(species > 0, 3 ** ((species - 1) % 3), 0)
    pooled = (species > 0) & (line < at.POOL_LINES)
    counted = np.zeros((len(states), at.POOL_LINES), np.int64)
    np.add.at(counted, (np.nonzero(pooled)[0], line[pooled]), weight[pooled])
    total: Ints = counted + states[:, at.POOL : at.POOL + at.POOL_LINES]
    return total


def units(seats: Ints) -> Ints:
    """The cells of every seat."""
    return seats[:, :, at.UNIT : at.UNIT + at.CELLS]


def violations(states: Ints) -> list[str]:
    """Names of the rules that some of the states break."""
    seats = states[:, at.PLAYERS :].reshape(len(states), at.SEATS, at.PLAYER_WORDS)
    alive = seats[:, :, at.ALIVE] == 1
    cells, gear = units(seats), seats[:, :, at.GEAR : at.GEAR + at.CELLS]
    level, held = seats[:, :, at.LEVEL], seats[:, :, at.HELD : at.HELD + at.BAG]
    ended = seats[seats[:, :, at.ENDED] == 1]
    rules = {
        "copies are conserved": (copies(states) == COPIES[LINE_RARITY[: at.POOL_LINES]]).all(),
        "the pool is not overdrawn": (states[:, at.POOL : at.POOL + at.POOL_LINES] >= 0).all(),
        "gold is not negative": (seats[:, :, at.GOLD] >= 0).all(),
        "life lies within 0 and 100": ((seats[:, :, at.LIFE] >= 0) & (seats[:, :, at.LIFE] <= 100)).all(),
        "who has no life is dead": (alive == (seats[:, :, at.LIFE] > 0)).all(),
        "the living are counted": (alive.sum(axis=1) == states[:, at.LIVING]).all(),
        "ranks are a permutation": (np.sort(seats[:, :, at.RANK], axis=1) == np.arange(1, at.SEATS + 1)).all(),
        "the living rank before the dead": (
            np.where(alive, seats[:, :, at.RANK], 0).max(axis=1) == states[:, at.LIVING]
        ).all(),
        "levels lie within 2 and 9": ((level >= 2) & (level <= 9)).all(),
        "experience is less than the next level needs": ((seats[:, :, at.XP] < XP_NEEDED[level]) | (level == 9)).all(),
        "teams have no more than their level": ((cells[:, :, at.BENCH :] > 0).sum(axis=2) <= level).all(),
        "creatures are known": ((cells >= 0) & (cells <= SPECIES)).all(),
        "only creatures carry items": (cells[gear > 0] > 0).all(),
        "the bag has no gaps": ((held[:, :, 1:] == 0) | (held[:, :, :-1] > 0)).all(),
        "the dead own nothing": not cells[~alive].any()
        and not seats[~alive][:, at.SHOP : at.SHOP + at.SHOP_SLOTS].any(),
        "who has ended the turn may only end it": (ended[:, at.MASK : at.MASK + 3] == [1 << at.END_TURN, 0, 0]).all(),
    }
    return [name for name, holds in rules.items() if not holds]
