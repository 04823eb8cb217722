"""The average regret: the measure of convergence for games that are too large for a best response."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...envs.poker.game import PokerGame
from ...envs.poker.tree import DECISION
from .settings import MccfrSettings
from .solving.discounting import weight_of

MAX_ENTRIES = 1 << 20
"""The most entries that are read. Of a larger table, those of evenly spaced buckets are read."""


def average_regret(game: PokerGame, table: NDArray[np.float32], weight: float) -> float:
    """Return the sum of the largest positive regret of every information set, per iteration, in chips per hand.

    With perfect recall it is an upper bound of NashConv, on average over the samples (Zinkevich et al., 2008).

    Args:
        game: The game.
        table: `(entries, 2)` regrets and sums of the average strategy.
        weight: The sum of the weights of all iterations, see `iterations_weight`.
    """
    step, total = -(-game.entries // MAX_ENTRIES), 0.0
    for street, player in np.argwhere(game.tree.width > 0):
        buckets, width = game.buckets[street], int(game.tree.width[street, player])
        first = int(game.entry_base[street, player])
        mine = (game.tree.kind == DECISION) & (game.tree.street == street) & (game.tree.player == player)
        regrets = table[first : first + buckets * width, 0].reshape(buckets, width)[::step]
        largest = np.maximum.reduceat(regrets, game.tree.place[mine], axis=1)
        total += float(largest.clip(min=0).sum(dtype=np.float64)) * buckets / len(regrets)
    return total / weight


def iterations_weight(settings: MccfrSettings, iterations: int) -> float:
    """Return the sum of the weights of so many iterations in the regrets of the table."""
    if settings.weighting == "linear":
        return iterations * (iterations + 1) / 2
    if settings.weighting == "discounted":
        return weight_of(iterations, settings.discount_interval)
    return float(iterations)
