"""Games `lo..hi` of the buffers, stepped by the compiled kernels; and which states are possible."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..driver import KernelPhase, Kernels, Limits, NativeGame, are_within
from ..task import Task
from . import layout as at
from .bag import GEAR_BITS, GEAR_MASK, player
from .display import BYTE_MASK, TAKEN
from .display import FIRST as FIRST_PICTURE
from .kernels import reset_envs, show_envs, step_envs
from .kinds import WEATHERS
from .layout import Ints
from .phases import end, play, run_all, run_one
from .tables import COPIES, ITEM_KIND, SPECIES
from .views import TABLE, views_of

ITEMS = len(ITEM_KIND)
OF_PLAYER = {
    (at.LEVEL, 1): (at.START_LEVEL, at.MAX_LEVEL),
    (at.ALIVE, 1): (0, 1),
    (at.RANK, 1): (1, at.SEATS),
    (at.OFFERED, 1): (0, at.ITEMS_OFFERED),
    (at.SHOP, at.SHOP_SLOTS): (0, SPECIES),
    (at.OFFER_UNIT, at.OFFERS): (0, SPECIES),
    (at.OFFER_ITEM, at.OFFERS): (0, ITEMS),
    (at.HELD, at.BAG): (0, ITEMS),
    (at.UNIT, at.CELLS): (0, SPECIES),
    (at.GEAR, at.CELLS): (0, (1 << at.GEAR_SLOTS * GEAR_BITS) - 1),
    (at.MET, 2 * at.SEATS): (0, at.LAST_STAGE),
}
LIMITS: Limits = {
    (at.STAGE, 1): (1, at.LAST_STAGE),
    (at.WEATHER, 1): (0, len(WEATHERS)),
    (at.POOL, at.POOL_LINES): (0, int(COPIES.max())),
    (at.FILM + TAKEN, 1): (0, at.PICTURES),
    **{(player(seat) + word, count): bounds for seat in range(at.SEATS) for (word, count), bounds in OF_PLAYER.items()},
}


def possible(_: object, states: Ints) -> NDArray[np.bool_]:
    """Return which of `(environments, WORDS)` states the game can be in."""
    cells = states[:, at.FILM + FIRST_PICTURE : at.FILM + at.FILM_WORDS] & BYTE_MASK
    players = states[:, at.PLAYERS :].reshape(len(states), at.SEATS, at.PLAYER_WORDS)
    gear = (
        players[:, :, at.GEAR : at.GEAR + at.CELLS, None] >> np.arange(0, at.GEAR_SLOTS * GEAR_BITS, GEAR_BITS)
        & GEAR_MASK
    )
    filmed, worn = cells <= at.FIGHT_ROWS * at.FIGHT_COLUMNS, gear <= ITEMS
    found: NDArray[np.bool_] = are_within(LIMITS, states) & filmed.all(axis=1) & worn.all(axis=(1, 2, 3))
    return found


def kernels(task: Task) -> Kernels:
    """Return the kernels of a task, which runs the fights of a round one by one or side by side."""
    fights = KernelPhase(run_one, at.MOST_FIGHTS) if task.values["combat"] == "device" else KernelPhase(run_all)
    return Kernels(reset_envs, step_envs, show_envs, (KernelPhase(play), fights, KernelPhase(end)))


GAME = NativeGame(TABLE, views_of, at.EPISODES, kernels, possible, ("autochess",))
