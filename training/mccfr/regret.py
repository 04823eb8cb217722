"""How far a training is where no best response can be had: what is regretted per iteration."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...envs.poker.game import PokerGame
from ...envs.poker.tree import DECISION
from .settings import MccfrSettings
from .solving.discounting import weight_of

MOST = 1 << 20
"""Entries that are looked at: of larger tables those of evenly spread buckets."""


def average_regret(game: PokerGame, table: NDArray[np.float32], weight: float) -> float:
    """Return the sum of all information sets' largest regret, if it is above 0, per iteration, in chips per hand.

    Where players forget nothing it bounds NashConv from above, on average over the samples (Zinkevich et al., 2008).

    Args:
        game: The game.
        table: `(entries, 2)` regrets and sums of the average strategy.
        weight: What the iterations weigh together, see `iterations_weight`.
    """
    step, total = -(-game.entries // MOST), 0.0
    for street, player in np.argwhere(game.tree.width > 0):
        buckets, width = game.buckets[street], int(game.tree.width[street, player])
        first = int(game.entry_base[street, player])
        mine = (game.tree.kind == DECISION) & (game.tree.street == street) & (game.tree.player == player)
        regrets = table[first : first + buckets * width, 0].reshape(buckets, width)[::step]
        largest = np.maximum.reduceat(regrets, game.tree.place[mine], axis=1)
        total += float(largest.clip(min=0).sum(dtype=np.float64)) * buckets / len(regrets)
    return total / weight


def iterations_weight(settings: MccfrSettings, iterations: int) -> float:
    """Return what so many iterations of sampling weigh together, as their regrets stand in the table."""
    if settings.weighting == "linear":
        return iterations * (iterations + 1) / 2
    if settings.weighting == "discounted":
        return weight_of(iterations, settings.discount_interval)
    return float(iterations)
