"""Checks which states are possible, as far as kernels rely on it; kernels do not check again."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..driver import Limits
from .bag import GEAR_BITS, GEAR_MASK, player
from .display import BYTE_MASK, TAKEN
from .display import FIRST as FIRST_PICTURE
from .kinds import WEATHERS
from .layout import (
    ALIVE,
    BAG,
    CELLS,
    FIGHT_COLUMNS,
    FIGHT_ROWS,
    FILM,
    FILM_WORDS,
    GEAR,
    GEAR_SLOTS,
    HELD,
    ITEMS_OFFERED,
    LAST_STAGE,
    LEVEL,
    MAX_LEVEL,
    MET,
    OFFER_ITEM,
    OFFER_UNIT,
    OFFERED,
    OFFERS,
    PICTURES,
    PLAYER_WORDS,
    PLAYERS,
    POOL,
    POOL_LINES,
    RANK,
    SEATS,
    SHOP,
    SHOP_SLOTS,
    STAGE,
    START_LEVEL,
    UNIT,
    WEATHER,
    WORDS,
    Ints,
)
from .tables import COPIES, ITEM_KIND, SPECIES

ITEMS = len(ITEM_KIND)
OF_PLAYER = {
    (LEVEL, 1): (START_LEVEL, MAX_LEVEL),
    (ALIVE, 1): (0, 1),
    (RANK, 1): (1, SEATS),
    (OFFERED, 1): (0, ITEMS_OFFERED),
    (SHOP, SHOP_SLOTS): (0, SPECIES),
    (OFFER_UNIT, OFFERS): (0, SPECIES),
    (OFFER_ITEM, OFFERS): (0, ITEMS),
    (HELD, BAG): (0, ITEMS),
    (UNIT, CELLS): (0, SPECIES),
    (GEAR, CELLS): (0, (1 << GEAR_SLOTS * GEAR_BITS) - 1),
    (MET, 2 * SEATS): (0, LAST_STAGE),
}
LIMITS = Limits(
    WORDS,
    {
        (STAGE, 1): (1, LAST_STAGE),
        (WEATHER, 1): (0, len(WEATHERS)),
        (POOL, POOL_LINES): (0, int(COPIES.max())),
        (FILM + TAKEN, 1): (0, PICTURES),
        **{
            (player(seat) + word, count): bounds for seat in range(SEATS) for (word, count), bounds in OF_PLAYER.items()
        },
    },
)


def possible(states: Ints) -> NDArray[np.bool_]:
    """Return which of `(environments, WORDS)` states the game can be in."""
    cells = states[:, FILM + FIRST_PICTURE : FILM + FILM_WORDS] & BYTE_MASK
    players = states[:, PLAYERS:].reshape(len(states), SEATS, PLAYER_WORDS)
    gear = players[:, :, GEAR : GEAR + CELLS, None] >> np.arange(0, GEAR_SLOTS * GEAR_BITS, GEAR_BITS) & GEAR_MASK
    filmed, worn = cells <= FIGHT_ROWS * FIGHT_COLUMNS, gear <= ITEMS
    found: NDArray[np.bool_] = LIMITS.hold(states) & filmed.all(axis=1) & worn.all(axis=(1, 2, 3))
    return found
